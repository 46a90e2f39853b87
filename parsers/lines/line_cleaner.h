// What stands around the text of a line: terminal sequences and the labels of launchers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

/// `text` without CSI, OSC and other ESC sequences; `buffer` holds the copy if one is needed.
[[nodiscard]] std::string_view strip_ansi(std::string_view text, std::string& buffer);

/// A stretch of a line that one rank wrote.
struct Piece {
  std::string_view text;
  int rank = -1;         ///< -1 = no label
  bool redrawn = false;  ///< backspaces follow it, as before the next redraw of a bar
  /// The text with what was taken off its front, where that may be the trainer's own: a stamp or a
  /// number ("2024-05-01T10:00:00 step 3", "3: loss 0.2"). Empty where nothing was.
  std::string_view whole{};
};

/// Cuts a line at the labels of mpirun ("[1,3]<stdout>:", also after a date, also in the middle of
/// a line: the label is put where the write happened) and takes off leading labels:
/// stamps of containers and CI (decoration.h), srun ("  3: "), torch ("[rank3]: ",
/// "[trainer0]:"), Intel MPI ("[0] "). Empty pieces are left out.
void split_by_launcher(std::string_view line, std::vector<Piece>& pieces);

/// Nearly every line: clean_line would give the text as it stands. False is no promise.
[[nodiscard]] bool is_bare(std::string_view text);

/// strip_ansi, then split_by_launcher, of what a program printed where `text` is a line of a
/// notebook's file. Several records without a line break between them are a piece each. The pieces
/// point into `text` or `buffer`.
void clean_line(std::string_view text, std::string& buffer, std::vector<Piece>& pieces);

/// The text after a label of pdsh ("host: ") or of Argo ("pod: "), empty if there is none. Any
/// word could be a label, so this is tried only when a line is not of the format with it.
[[nodiscard]] std::string_view after_host_label(std::string_view text);

/// What stands after both labels of "localhost: [rank1]: text"; else `text` itself.
[[nodiscard]] std::string_view without_host_and_rank(std::string_view text);

}  // namespace bertbench
