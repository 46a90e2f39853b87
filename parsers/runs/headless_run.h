// Runs of logs that begin in the middle.
#pragma once

namespace bertbench {

class RunBuilder;
class RunDraft;
struct Sample;

/// The first line's counter is not what its time is of where the log has lost its head: the second
/// line, `second`, shows that. Then the run begins again, with the first line, `first`, taken for
/// an interval as long as the second's, and the run that goes on is returned; else `draft` itself,
/// which holds one record.
RunDraft& without_head(RunDraft& draft, Sample first, const Sample& second, RunBuilder& out);

}  // namespace bertbench
