import Records
import Sealing
import Settings
import UAFRelyingParty
import _Primitives

/// The common tools of all parts of the engine: the deployment's choices, the keys, the clock and the source of random
/// bytes.
///
/// All parts share a single object. A step that captures a part therefore captures only a pointer.
final class CeremonyEnvironment: Sendable {
    let configuration: CeremonyConfiguration
    let rules: CurrentRules
    let sealing: Sealing
    let time: TimeSource
    let random: RandomSource
    private let outcomeOfEnd: OutcomeOfEnd

    /// Returns the history's entry for an identity session that ends from outside; `nil` for a session without an
    /// entry. The identities' folder knows the entry, and most parts stand below this folder.
    typealias OutcomeOfEnd =
        @Sendable (
            CeremonyRecord, IdentityHistoryRecord.Outcome, _ now: Timestamp, Limits
        ) -> IdentityOutcomeChange?

    init(
        configuration: CeremonyConfiguration, rules: CurrentRules, sealing: Sealing, time: TimeSource,
        random: RandomSource, outcomeOfEnd: @escaping OutcomeOfEnd
    ) {
        self.configuration = configuration
        self.rules = rules
        self.sealing = sealing
        self.time = time
        self.random = random
        self.outcomeOfEnd = outcomeOfEnd
    }

    /// Returns the history's entry for an identity session that ends from outside: by the clock, a browser, or the end
    /// of its activation. `nil` for every other ceremony, and for a session without an entry.
    func outcomeOfEnd(
        of record: CeremonyRecord, _ outcome: IdentityHistoryRecord.Outcome, at now: Timestamp
    ) -> IdentityOutcomeChange? { self.outcomeOfEnd(record, outcome, now, self.configuration.limits) }

    /// Returns the history's entries for identity sessions that fail together, because their device has ended.
    func endOfSessions(at now: Timestamp) -> SessionEnding { { self.outcomeOfEnd(of: $0, .failed, at: now) } }
}

/// A part of the engine: one use case, with only the stores that the use case needs.
protocol CeremonyPart: Sendable {
    var environment: CeremonyEnvironment { get }
}

extension CeremonyPart {
    var configuration: CeremonyConfiguration { self.environment.configuration }
    var limits: Limits { self.environment.configuration.limits }
    var rules: CurrentRules { self.environment.rules }
    var requests: RequestBuilder { self.rules.value.requests }
    var relyingParty: RelyingPartyConfiguration { self.rules.value.relyingParty }
    var sealing: Sealing { self.environment.sealing }
    var time: TimeSource { self.environment.time }
    var random: RandomSource { self.environment.random }

    /// Returns a new identifier of a row: 16 random bytes.
    func newIdentifier() -> String { self.random.identifier() }
}

extension Sealing {
    /// Seals data that a client carries for the server.
    func sealServerData(_ bytes: [UInt8]) throws -> [UInt8] {
        try self.sealPassing(bytes, purpose: .serverData, label: SealedServerData.label)
    }

    /// Opens data that ``sealServerData(_:)`` sealed; `nil` for everything else.
    func openServerData(_ sealed: [UInt8]) -> [UInt8]? {
        self.openPassing(sealed, purpose: .serverData, label: SealedServerData.label)
    }
}

extension SealingPurpose {
    fileprivate static let serverData = SealingPurpose("uaf server data")
    static let typedCode = SealingPurpose("typed code")
    static let deviceToken = SealingPurpose("token of a device")
    static let confirmationNumber = SealingPurpose("confirmation number")
    static let enrolmentSecret = SealingPurpose("device secret")
    static let browserIdentifier = SealingPurpose("browser identifier")
    static let inventedKey = SealingPurpose("invented key")
    static let inventedAccount = SealingPurpose("invented account")
    static let inventedKeyTag = SealingPurpose("invented key tag")
    static let inventedKeyMask = SealingPurpose("invented key mask")
    static let inventedKeyRest = SealingPurpose("invented key rest")
}

extension AuditEvent.Kind {
    static let deviceAdded = Self(rawValue: "device-added")
    static let deviceReplaced = Self(rawValue: "device-replaced")
    static let deviceKeysAdded = Self(rawValue: "device-keys-added")
    static let deviceKeysReplaced = Self(rawValue: "device-keys-replaced")
    /// The app of a registration has proved itself; the detail is the device, the app and the environment.
    static let appAttested = Self(rawValue: "app-attested")
    /// The evidence about the app of a registration was refused; the detail is the status code and the reason.
    static let appRefused = Self(rawValue: "app-refused")
    static let authenticatorAdded = Self(rawValue: "authenticator-added")
    static let enrolmentLinkCreated = Self(rawValue: "activation-created")
    static let dispatchClaimed = Self(rawValue: "dispatch-claimed")
    static let signInClaimed = Self(rawValue: "sign-in-claimed")
    static let registrationAnswered = Self(rawValue: "registration-answered")
    static let confirmationFailed = Self(rawValue: "confirmation-failed")
    static let authenticated = Self(rawValue: "authenticated")
    static let transactionConfirmed = Self(rawValue: "transaction-confirmed")
    static let denied = Self(rawValue: "denied")
    static let failed = Self(rawValue: "failed")
    static let counterWentBack = Self(rawValue: "counter-went-back")
    static let wrongBrowser = Self(rawValue: "wrong-browser")
    static let cancelled = Self(rawValue: "cancelled")
    static let expired = Self(rawValue: "expired")
    static let signedIn = Self(rawValue: "signed-in")
}
