#pragma once

#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/base/result.h"

namespace hobnob {

// A published algorithm as a combination of a job's keys.
struct Preset {
  const char* name;
  const char* paper;
  const char* sends;  // per round and edge
  const char* state;  // in vectors as long as the parameters, beyond them and the optimizer's
  const char* when;
  const char* edits;  // JSON that is merged into the job fashion-mlp
};

const std::vector<Preset>& presets();

// Null when there is none of that name.
const Preset* find_preset(const std::string& name);

// The keys of `edits` into those of `document`, objects into objects; an object with a "kind"
// replaces one of another kind.
Json merged(const Json& document, const Json& edits);

}  // namespace hobnob
