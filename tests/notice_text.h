// NoticeText: matches the sentence that people read of a notice.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "parsers/core/notice.h"

namespace bertbench {

template <class Matcher>
auto NoticeText(Matcher matcher) {
  return testing::ResultOf([](const Notice& notice) { return text_of(notice); }, matcher);
}

}  // namespace bertbench
