import Foundation

/// Something that a process keeps in a file, which it replaces whole.
protocol KeptInFile: Codable {}

extension KeptInFile {
    init(file: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }

    func write(to file: String) throws {
        try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: file), options: .atomic)
    }
}

/// What a client is to do: beside what it keeps itself, which it would have without a test as well.
struct Errand: KeptInFile {
    /// With what a client ends that was signed out.
    static let signedOut: Int32 = 3
    /// How often one asks that hears nothing.
    static let tries = 100

    /// The server's own port, and that of the proxy in front of it.
    let serverPort: UInt16
    let proxyPort: UInt16
    /// How often it is still to renew.
    var left: Int
    /// At what numbers of `left` it dies between the receipt of a token and its storage.
    var deaths: Set<Int>
    /// How far the server's clock is ahead.
    var secondsAhead: Int

    /// The file beside the one in which the client keeps what it has.
    static func file(of client: String) -> String { client + ".errand" }

    /// Whether the client is to die this time. It is noted before, so that it dies once there and not each time.
    mutating func isToDie(at file: String) throws -> Bool {
        guard self.deaths.remove(self.left) != nil else { return false }
        try self.write(to: file)
        return true
    }

    mutating func hasRenewed(at file: String) throws {
        self.left -= 1
        try self.write(to: file)
    }
}
