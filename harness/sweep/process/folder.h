// Folder: files of a run folder, reached through descriptors so that no symbolic link planted in it
// is ever followed, and written so that a file is either whole or not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/process/descriptor.h"
#include "parsers/core/error.h"

namespace bertbench {

/// Names for folders: [A-Za-z0-9._+=-] stay, the rest becomes '_'. A name that was altered, is
/// longer than 120 bytes, or equals another one but for case gets "-" and 8 hex digits of its hash.
std::vector<std::string> safe_names(const std::vector<std::string>& names);

class Folder {
 public:
  /// Makes the folder and its parents. The root itself may be reached through links: the user
  /// named it.
  static Result<Folder> make_root(const std::string& path);

  /// Sub-folder, "a" or "a/b", made if missing; a link or a file of such a name is an error.
  [[nodiscard]] Result<Folder> child(const std::string& path) const;
  /// A new empty file for appending; an old one of that name is unlinked first, so that a process
  /// which still holds it cannot write into the new one.
  [[nodiscard]] Result<Descriptor> create_log(const std::string& name) const;
  /// Opens for reading and appending, made if missing. Close-on-exec.
  [[nodiscard]] Result<Descriptor> open_append(const std::string& name) const;
  /// Temporary file, fsync, rename, fsync of the folder.
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view text) const;
  /// The same, for its owner alone to read: it holds a secret.
  [[nodiscard]] Result<void> write_private(const std::string& name, std::string_view text) const;
  /// The same without the syncs: whole or not there if a process dies; if the machine does, it may
  /// be empty. For what can be made again.
  [[nodiscard]] Result<void> write_unsynced(const std::string& name, std::string_view text) const;
  /// When `name` is no longer the file that `fd` has open (removed, renamed, replaced): writes it
  /// again from there. True if that was so.
  [[nodiscard]] Result<bool> restore(const std::string& name, int fd) const;
  /// `name` becomes a synced copy of the first `bytes` of another file, which is no link.
  [[nodiscard]] Result<void> keep(const std::string& name, const std::string& path,
                                  std::int64_t bytes) const;
  void remove(const std::string& name) const;
  [[nodiscard]] bool holds(const std::string& name) const;  ///< a plain file of that name
  [[nodiscard]] Result<void> sync() const;
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }  ///< absolute
  /// Fails unless `bytes` can be written and synced now; nothing remains of them.
  [[nodiscard]] Result<void> probe(std::size_t bytes) const;

 private:
  Folder(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  /// A temporary file filled by `fill(fd)` and renamed to `name`.
  template <class Fill>
  [[nodiscard]] Result<void> replace(const std::string& name, bool synced, Fill fill,
                                     unsigned mode = 0666) const;
  Descriptor fd_;
  std::string path_;
};

/// A whole file; nothing when it cannot be opened or read (errno has the reason). Folders cannot.
std::optional<std::string> read_text(const std::string& path);
/// Appends what is left of an open file, as far as it can be read; false (errno): not to its end.
bool read_all(int fd, std::string& text);
/// All of `text`, EINTR and short writes handled; errno is left as set.
bool write_all(int fd, std::string_view text);
/// Error for a failed call on a file: names the cause and, for a full disk, the remedy.
Error file_error(const std::string& path, const std::string& what, int error_number);

}  // namespace bertbench
