#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/hobnob/job.h"

// Jobs made from problem P1 (algorithms.md section 1): 8 peers, 6 values, a known optimum.

namespace hobnob {

// Keys, with dots, and what they become.
using Edits = std::vector<std::pair<std::string, Json>>;

inline Json with(const Json& document, const std::string& path, const Json& value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) {
    return Json(document).set(path, value);
  }
  const std::string key = path.substr(0, dot);
  const Json* child = document.find(key);
  return Json(document).set(key,
                            with(child == nullptr ? Json() : *child, path.substr(dot + 1), value));
}

inline Job job_of(Json document, const Edits& edits) {
  for (const auto& [path, value] : edits) {
    document = with(document, path, value);
  }
  Result<Job> job = parse_job(document.dump(), "test");
  HOBNOB_CHECK(job.ok(), job.error().message.c_str());
  return std::move(job).value();
}

inline Job p1(const Edits& edits) {
  return job_of(parse_json(example_job("quadratic").value(), "quadratic").value(), edits);
}

}  // namespace hobnob
