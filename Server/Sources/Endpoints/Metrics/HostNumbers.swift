package import Records

/// The numbers of the machine that a server runs on.
public struct HostNumbers: Sendable {
    /// The release of the program.
    public var version: String
    /// The size of the database in bytes.
    public var databaseBytes: Int64 = 0
    /// The bytes of the disk that holds the data folder; `nil` if the system does not tell.
    public var disk: (free: Int64, all: Int64)?
    /// The remaining validity of each listener's certificate.
    public var certificates: [(listener: String, remaining: Duration)] = []
    /// The time since the last change of the file of the key-encryption keys.
    public var keyFileAge: Duration?
    /// The time since the last backup began; `nil` before the first backup.
    public var backupAge: Duration?

    /// Creates the numbers of a program of this release, without the other numbers.
    public init(version: String) { self.version = version }
}

/// The numbers of a store's contents at the last look.
package struct StoreCounts: Sendable {
    /// The messages that wait in each channel, and the waiting time of the oldest.
    let messages: [OutboxChannel: (count: Int, age: Duration)]
    /// Sessions that have not run out.
    let sessions: Int

    /// Creates the numbers of a look; the numbers of an empty store without arguments.
    package init(messages: [OutboxChannel: (count: Int, age: Duration)] = [:], sessions: Int = 0) {
        self.messages = messages
        self.sessions = sessions
    }
}
