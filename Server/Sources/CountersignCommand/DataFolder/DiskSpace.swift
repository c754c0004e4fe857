import Foundation

/// How much room a disk has, in bytes.
struct DiskSpace: Sendable {
    /// What users other than root can still write.
    let free: Int64
    /// What the disk holds.
    let all: Int64

    init(free: Int64, all: Int64) {
        self.free = free
        self.all = all
    }

    /// Of the disk that a path is on; `nil` where the system does not say.
    init?(at path: String) {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        let size = Int64(space.f_frsize)
        self.init(free: Int64(space.f_bavail) * size, all: Int64(space.f_blocks) * size)
    }
}
