/// A relying party's back end, after it has proved who it is.
public struct DispatchingClient: Sendable, Equatable {
    public var id: String
    /// The name that phones show.
    public var name: String
    /// The web origin that phones show.
    public var origin: String?
    /// Whether it may have people's keys deleted.
    public var mayDeregister: Bool

    /// Names a client.
    public init(id: String, name: String, origin: String?, mayDeregister: Bool = false) {
        self.id = id
        self.name = name
        self.origin = origin
        self.mayDeregister = mayDeregister
    }
}

/// A device that has just authenticated its account.
public struct AuthenticatedDevice: Sendable, Equatable {
    /// Whose device it is.
    public let accountID: String
    /// The device registration.
    public let deviceID: String

    /// A device of an account.
    public init(accountID: String, deviceID: String) {
        self.accountID = accountID
        self.deviceID = deviceID
    }
}

/// The engine's names for people as relying parties know them: pairwise, one for each client.
public struct Subjects: Sendable {
    let subject: @Sendable (_ accountID: String, _ clientID: String) async throws -> String
    let accountID: @Sendable (_ subject: String, _ clientID: String) async throws -> String?

    /// `subject` names an account to a client, `accountID` is the way back; `nil` for a name that the client was never
    /// given.
    public init(
        subject: @escaping @Sendable (_ accountID: String, _ clientID: String) async throws -> String,
        accountID: @escaping @Sendable (_ subject: String, _ clientID: String) async throws -> String?
    ) {
        self.subject = subject
        self.accountID = accountID
    }
}
