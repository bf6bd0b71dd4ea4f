// A lock on a file that its writer holds until the writer ends, however that happens: so others can tell whether more
// may come. An open file description lock (fcntl(2)) on the first byte; it is advisory, and reading is not affected.
#pragma once

namespace kevt {

// `fd`: open for writing; the lock goes when its last copy is closed, those of forked processes too. False: the file
// system has no such locks, or somebody else holds this one.
bool take_writer_lock(int fd);
// Whether somebody holds the file's lock. `fd`: open for reading, by another open() than the writer's.
bool has_writer_lock(int fd);

}  // namespace kevt
