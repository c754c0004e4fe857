import Foundation

/// Data that a process keeps in a file. The process always replaces the whole file.
protocol KeptInFile: Codable {}

extension KeptInFile {
    init(file: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }

    func write(to file: String) throws {
        try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: file), options: .atomic)
    }
}

/// The task of a client, separate from the data that the client would also keep without a test.
struct Errand: KeptInFile {
    /// The exit code of a client that was signed out.
    static let signedOut: Int32 = 3
    /// The maximum number of requests without an answer.
    static let tries = 100

    /// The server's own port, and the port of the proxy in front of the server.
    let serverPort: UInt16
    let proxyPort: UInt16
    /// The number of remaining renewals.
    var left: Int
    /// The numbers of `left` at which the client dies between the receipt of a token and its storage.
    var deaths: Set<Int>
    /// The number of seconds by which the server's clock is ahead.
    var secondsAhead: Int

    /// Returns the path of the errand, beside the file with the client's data.
    static func file(of client: String) -> String { client + ".errand" }

    /// Returns `true` if the client is to die now. The death is noted before, so that the client dies here only once.
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
