public import Records

/// A relying party's back end, after authentication.
public struct DispatchingClient: Sendable, Equatable {
    public var id: String
    /// The name that phones show.
    public var name: String
    /// The web origin that phones show.
    public var origin: String?
    /// `true` if the client may have people's keys deleted.
    public var mayDeregister: Bool
    /// `true` if the client may have devices of people enrolled.
    public var mayEnrol: Bool
    /// `true` if the client shows the number that a person has to type on the phone, also for transactions.
    public var matchesNumbers: Bool
    /// `true` if a dispatch can have a text that page and phone show for a comparison (channel linking).
    public var linksChannels: Bool

    /// Creates a client.
    public init(
        id: String, name: String, origin: String?, mayDeregister: Bool = false, mayEnrol: Bool = false,
        matchesNumbers: Bool = false, linksChannels: Bool = false
    ) {
        self.mayEnrol = mayEnrol
        self.matchesNumbers = matchesNumbers
        self.linksChannels = linksChannels
        self.id = id
        self.name = name
        self.origin = origin
        self.mayDeregister = mayDeregister
    }
}

/// A device that has just authenticated its account.
public struct AuthenticatedDevice: Sendable, Equatable {
    /// The account of the device.
    public let accountID: String
    /// The device registration.
    public let deviceID: String

    /// Creates a device of an account.
    public init(accountID: String, deviceID: String) {
        self.accountID = accountID
        self.deviceID = deviceID
    }
}

/// A session of a person, as the session's holder shows it in a request.
public struct ShownSession: Sendable, Equatable {
    /// The account of the session.
    public let accountID: String
    /// SHA-256 of the session's secret, 32 bytes.
    public let digest: [UInt8]

    /// Creates a session of an account.
    public init(accountID: String, digest: [UInt8]) {
        self.accountID = accountID
        self.digest = digest
    }
}

/// The letters that tell people of changes of their accounts.
public struct ChangeLetters: Sendable {
    /// Makes the letter about a change, with the number of letters that may wait; `nil` for a person without letters.
    public typealias Writer = @Sendable (AccountChangeRecord) -> (MailRecord, most: Int)?

    let writer: @Sendable (_ accountID: String) async throws -> Writer

    /// Creates the letters. `writer` returns the function that makes the letters to an account.
    public init(_ writer: @escaping @Sendable (_ accountID: String) async throws -> Writer) { self.writer = writer }

    /// The letters of a server that sends no mail.
    public static let none = Self { _ in { _ in nil } }
}

/// The names by which relying parties know people: pairwise, a different name for each client, or for each sector of
/// clients.
public struct Subjects: Sendable {
    let subject: @Sendable (_ accountID: String, _ clientID: String) async throws -> String
    let accountID: @Sendable (_ subject: String, _ clientID: String) async throws -> String?

    /// Creates the names. `subject` returns an account's name for a client, `accountID` returns the account of a name;
    /// `nil` for a name that the client was never given.
    public init(
        subject: @escaping @Sendable (_ accountID: String, _ clientID: String) async throws -> String,
        accountID: @escaping @Sendable (_ subject: String, _ clientID: String) async throws -> String?
    ) {
        self.subject = subject
        self.accountID = accountID
    }
}
