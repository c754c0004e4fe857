import Foundation

/// The space of a disk, in bytes.
struct DiskSpace: Sendable {
    /// The space that users other than root can still write.
    let free: Int64
    /// The whole space of the disk.
    let all: Int64

    init(free: Int64, all: Int64) {
        self.free = free
        self.all = all
    }

    /// Reads the space of the disk that holds a path; `nil` if the system does not tell.
    init?(at path: String) {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        let size = Int64(space.f_frsize)
        self.init(free: Int64(space.f_bavail) * size, all: Int64(space.f_blocks) * size)
    }
}
