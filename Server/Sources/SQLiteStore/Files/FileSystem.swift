import Foundation
import Store

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a failed call on a file becomes.
enum FileFailure {
    /// The store's error for the last failed call of the system, or for an error of Foundation's.
    static func storeError(_ what: String, _ error: (any Error)? = nil) -> StoreError {
        var number = errno
        if let error {
            let posix = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? (error as NSError)
            guard posix.domain == NSPOSIXErrorDomain else {
                return (error as? StoreError) ?? StoreError(.unavailable, "\(what): \(error)")
            }
            number = Int32(posix.code)
        }
        return StoreError(.unavailable, "\(what): \(String(cString: strerror(number)))")
    }
}

/// What is done to folders.
enum Folder {
    /// Makes the entries of a folder durable. The folder of a bare name is the present one.
    static func synchronize(_ path: String) throws {
        let descriptor = open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure.storeError("cannot open \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileFailure.storeError("cannot make \(path) durable") }
    }
}

/// Whose the files are that root makes for a server that is not root's.
public enum Owner {
    /// Gives a file to the owner of its folder, where root made it. A link is not followed.
    ///
    /// Throws ``StoreError/Code/unavailable``.
    public static func give(_ path: String, ofFolder folder: String) throws {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(folder, &status) == 0, lchown(path, status.st_uid, status.st_gid) == 0 else {
            throw FileFailure.storeError("cannot give \(path) to the folder's owner")
        }
    }

    /// The same for an open file.
    static func give(_ descriptor: Int32, ofFolder folder: String) throws {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(folder, &status) == 0, fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
            throw FileFailure.storeError("cannot give a file of \(folder) to the folder's owner")
        }
    }
}
