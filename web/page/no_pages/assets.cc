#include "web/page/assets.h"

namespace lockstep {

const PageAssets* Assets() { return nullptr; }

}  // namespace lockstep
