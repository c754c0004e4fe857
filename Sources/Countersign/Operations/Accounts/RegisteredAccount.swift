public import Foundation
import _Primitives

/// An account for which this device is enrolled.
public struct RegisteredAccount: Hashable, Sendable {
    /// The person's name at the server. The name occurs once on a device.
    public let username: Username
    /// The server of the account.
    public let server: Server

    /// A server, by its address. Two servers are equal if their addresses are written the same.
    public struct Server: Hashable, Sendable {
        /// The server's address, with its base path: ``ClientConfiguration/baseURL``.
        public let baseURL: URL

        /// Creates a server with the address.
        public init(baseURL: URL) { self.baseURL = baseURL }
    }

    /// Creates an account. Public also for an app's own tests.
    public init(username: Username, server: Server) {
        self.username = username
        self.server = server
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.username.hasSameBytes(as: right.username) && left.server == right.server
    }

    public func hash(into hasher: inout Hasher) {
        self.username.hashBytes(into: &hasher)
        hasher.combine(self.server)
    }
}

extension StoredAccount {
    /// The account for the app.
    var account: RegisteredAccount {
        RegisteredAccount(username: self.username, server: RegisteredAccount.Server(baseURL: self.key.server))
    }
}
