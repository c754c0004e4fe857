import Foundation
import Records

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Translates failed file calls into errors of the store.
enum FileFailure {
    /// Returns the store's error for the last failed system call, or for an error of Foundation.
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

/// The file of a database.
enum DatabaseFile {
    /// Returns `true` if there is a file at `path`.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Checks that there is a file at `path`. Throws ``StoreError/Code/notFound``.
    static func require(_ path: String) throws {
        guard Self.exists(path) else { throw StoreError(.notFound, "there is no database at \(path)") }
    }
}

/// Operations on folders.
enum Folder {
    /// Makes the entries of a folder durable. An empty `path` stands for the present folder.
    static func synchronize(_ path: String) throws {
        let descriptor = open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure.storeError("cannot open \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileFailure.storeError("cannot make \(path) durable") }
    }
}

/// Hands over files that root makes to the account of the server.
public enum Owner {
    /// Gives a file that root made to the owner of the folder. Does nothing if the process does not run as root. Does
    /// not follow a link.
    ///
    /// Throws ``StoreError/Code/unavailable``.
    public static func give(_ path: String, ofFolder folder: String) throws {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(folder, &status) == 0, lchown(path, status.st_uid, status.st_gid) == 0 else {
            throw FileFailure.storeError("cannot give \(path) to the folder's owner")
        }
    }

    /// Gives an open file that root made to the owner of the folder. Does nothing if the process does not run as root.
    static func give(_ descriptor: Int32, ofFolder folder: String) throws {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(folder, &status) == 0, fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
            throw FileFailure.storeError("cannot give a file of \(folder) to the folder's owner")
        }
    }
}
