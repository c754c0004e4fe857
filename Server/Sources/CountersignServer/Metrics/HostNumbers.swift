/// The numbers of the machine that a server runs on.
public struct HostNumbers: Sendable {
    /// The release of the program.
    public var version: String
    /// Bytes that the database takes.
    public var databaseBytes: Int64 = 0
    /// Bytes of the disk that the data folder is on; `nil` where the system does not say.
    public var disk: (free: Int64, all: Int64)?
    /// How long each listener's certificate is valid still.
    public var certificates: [(listener: String, remaining: Duration)] = []
    /// How long ago the file of the key-encryption keys was changed.
    public var keyFileAge: Duration?
    /// How long ago the last backup was begun; `nil` before the first.
    public var backupAge: Duration?

    /// The numbers of a program of this release, without the others.
    public init(version: String) { self.version = version }
}

/// What a store has, as it was looked at last.
struct StoreCounts: Sendable {
    /// Letters that wait.
    var mails = 0
    /// How long the oldest of them has waited.
    var mailAge = Duration.zero
    /// Sessions that have not run out.
    var sessions = 0
}
