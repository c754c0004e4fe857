public import Foundation
import _Primitives

/// An account that this device is enrolled for.
public struct RegisteredAccount: Hashable, Sendable {
    /// The person's name at the server; it occurs once on a device.
    public let username: Username
    /// The server that knows it.
    public let server: Server

    /// A server, by its address.
    public struct Server: Hashable, Sendable {
        /// Scheme, host and port.
        public let baseURL: URL

        /// A server at that address.
        public init(baseURL: URL) { self.baseURL = baseURL }
    }

    /// An account, for an app's own tests too.
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
    /// The account, as an app sees it.
    var account: RegisteredAccount {
        RegisteredAccount(username: self.username, server: RegisteredAccount.Server(baseURL: self.key.server))
    }
}

/// What the app calls this device towards the server.
public struct DeviceInformation: Hashable, Sendable {
    /// A name that the person knows the device by: 1 to 100 characters, not white space alone, and nowhere more than 30
    /// combining marks in a row. A registration with another name ends with ``OperationError/Code/missingInteraction``,
    /// and with the reason.
    public let name: String

    /// A device of that name.
    public init(name: String) { self.name = name }

    /// Why this is no name for a device; `nil` where it is one.
    var flaw: String? {
        if !(1...100).contains(self.name.unicodeScalars.count) { return "it does not have 1 to 100 characters" }
        // With such a name in it, neither this device's own list nor an answer of the server could be read again.
        if !self.name.isStreamSafe { return "it has more than 30 combining marks in a row" }
        return self.name.allSatisfy(\.isWhitespace) ? "it is white space" : nil
    }
}
