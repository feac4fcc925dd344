// <torch/torch.h> without the macros that it shares with base/check.h: torch brings glog's CHECK
// and DCHECK, and ours must win. The only place that includes torch; precompiled for the room.
#pragma once

#pragma push_macro("CHECK")
#pragma push_macro("DCHECK")
#undef CHECK
#undef DCHECK
#include <torch/torch.h>
#pragma pop_macro("CHECK")
#pragma pop_macro("DCHECK")
