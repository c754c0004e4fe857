public import Countersign

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A mark in a file of the app, which disappears with the app, while the Keychain stays.
///
/// A missing file alone does not count as a new installation: before the first unlock after a start, the system may hide
/// the app's files. An item of the Keychain, which is unreadable at the same time, distinguishes the two.
public struct KeychainInstallationMark: InstallationMark {
    private let values: KeychainValues
    private let path: String
    private static let name = "installation"

    /// Creates a mark at a path, with a witness among the values of the Keychain's service.
    package init(_ keychain: any Keychain, service: String, path: String) {
        self.values = KeychainValues(keychain, service: service)
        self.path = path
    }

    /// Returns `true` if the file exists. Throws ``StorageError`` `locked` if the file is missing while the Keychain is
    /// locked.
    public func isSet() throws -> Bool {
        if FileManager.default.fileExists(atPath: self.path) { return true }
        _ = try self.values.read(Self.name)
        return false
    }

    /// Creates the item of the Keychain, and then the file.
    public func set() throws {
        try self.values.write([1], to: Self.name)
        do {
            try Data([1]).write(to: URL(fileURLWithPath: self.path), options: [.atomic])
        } catch {
            throw StorageError(.unavailable, "the mark of the installation cannot be written")
        }
    }
}
