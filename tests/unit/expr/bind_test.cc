#include "call.h"
