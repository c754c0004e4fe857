import Accounts
import CeremonyEngine
import Foundation
import FreshStores
import JOSE
import Records
import SQLStore
import SQLiteStore
import Sealing
import Settings
import Synchronization
import UAF
import UAFRelyingParty
import _Primitives

/// A clock that the test moves.
final class TestClock: Sendable {
    private let moment = Mutex(Timestamp(seconds: 1_800_000_000))

    var source: TimeSource { TimeSource { self.now } }
    var now: Timestamp { self.moment.withLock { $0 } }
    func advance(_ span: Duration) { self.moment.withLock { $0 = $0 + span } }
}

/// An engine over a store of its own, with a clock to move.
final class TestServer: Sendable {
    let folder: String
    let database: SQLStore
    let engine: CeremonyEngine
    /// The engine of the same store after a backup was restored.
    let laterEngine: CeremonyEngine
    let directory: AccountDirectory
    /// Makes one of the same store and key, with this epoch.
    private let makeEngine: @Sendable (String) throws -> CeremonyEngine
    /// What it goes on from, after a restart.
    private let former: TestServer?
    private let root: SealingRoot
    private let signer: ManagerSigner
    let clock: TestClock
    /// The provider of codes, as apps' own sessions see it.
    let inApp = TestInAppServices()
    let bank = DispatchingClient(
        id: "bank", name: "Demo Bank", origin: "http://127.0.0.1:8081", mayDeregister: true)
    let browser = RandomSource.system.token()

    /// - Parameters:
    ///   - former: A server whose store is closed, which starts again: with its clock, and with the keys that it signs with.
    ///   - keys: The key-encryption keys; without, a new one.
    init(
        random: RandomSource = .system, storeLimits: Limits = Limits(), signer given: ManagerSigner? = nil,
        restarting former: TestServer? = nil, keys ring: KeyRing? = nil, pins: (any PinEvaluating)? = nil,
        dispatchers: Dispatchers = .standard, receipts: ReceiptSigner? = nil,
        _ adjust: (inout CeremonyConfiguration) -> Void = { _ in }
    ) throws {
        self.former = former
        self.clock = former?.clock ?? TestClock()
        self.folder =
            former?.folder ?? FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        let keys = ring ?? KeyRing(KeyEncryptionKey())
        let database =
            try former.map { try SQLStore(folder: $0.folder, keys: keys, limits: storeLimits) }
            ?? FreshStore.open(in: self.folder, key: keys.newest, limits: storeLimits)
        self.database = database
        let root = former?.root ?? SealingRoot(of: keys.newest)
        self.root = root
        var configuration = CeremonyConfiguration(
            issuer: "http://localhost:8080", serviceName: "Countersign", appID: "",
            trustedFacets: [try FacetID(TestPhone.facet)], metadata: try MetadataCatalog.builtIn())
        adjust(&configuration)
        let chosen = configuration
        let clock = self.clock
        let signing = try SigningKey(
            kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
        let signer =
            given ?? former?.signer
            ?? ManagerSigner(
                key: { _ in signing }, publicKeys: { _ in JWKSet([signing.publicKey].compactMap(\.self)) })
        self.signer = signer
        let inApp = self.inApp
        @Sendable func engine(epoch: String) throws -> CeremonyEngine {
            try CeremonyEngine(
                configuration: chosen, store: database, sealing: Sealing(keys, root: root, epoch: epoch),
                time: clock.source, random: random,
                subjects: Subjects(
                    subject: { accountID, clientID in "\(clientID)|\(accountID)" },
                    accountID: { subject, clientID in
                        subject.hasPrefix("\(clientID)|") ? String(subject.dropFirst(clientID.count + 1)) : nil
                    }), dispatchers: dispatchers, signer: signer, receiptSigner: receipts, inApp: inApp, pins: pins)
        }
        self.engine = try engine(epoch: "")
        self.laterEngine = try engine(epoch: "restored")
        self.makeEngine = { try engine(epoch: $0) }
        self.directory = AccountDirectory(
            store: database, time: self.clock.source,
            endOfSessions: Identities.endOfSessions(limits: chosen.limits))
    }

    deinit { if self.former == nil { try? FileManager.default.removeItem(atPath: self.folder) } }

    /// The engine of another server over the same store, with the same key.
    func anotherEngine() throws -> CeremonyEngine { try self.makeEngine("") }

    /// Adds an account with one confirmed phone.
    @discardableResult
    func enrol(_ username: String = "alice") async throws -> (account: AccountRecord, phone: TestPhone) {
        let account = try await self.directory.create(username: username, displayName: nil, by: "test")
        return (account, try await self.addPhone(to: username))
    }

    /// Adds a confirmed phone to an account.
    func addPhone(
        to username: String, name: String = "Alice's phone", factor: AuthenticatorModel.Factor = .pin,
        displays: [DisplayPNGCharacteristics] = [], algorithm: SignatureAlgorithm = .p256Raw
    ) async throws -> TestPhone {
        let phone = try TestPhone(factor: factor, displays: displays, algorithm: algorithm)
        let enrolment = try await self.engine.enrolments.createEnrolmentLink(username: username, by: "test")
        let request = try await self.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let answer = try await self.engine.registrationAnswers.judge(try phone.register(request, name: name))
        _ = try await self.engine.enrolments.confirmEnrolment(
            id: enrolment.id, number: answer.confirmation?.number ?? "", by: "test")
        return phone
    }

    /// The account's first device, as it stands in a token.
    func device(of account: AccountRecord) async throws -> AuthenticatedDevice {
        let devices = try await self.database.devices(accountID: account.id)
        return AuthenticatedDevice(accountID: account.id, deviceID: devices.first?.id ?? "none")
    }

    let requester = SignInRequester(
        client: "demo-bank", service: "Demo Bank", origin: "http://127.0.0.1:8081", address: "192.0.2.1",
        browser: "Chrome on Linux")

    /// Begins a sign-in in the test's browser.
    func beginSignIn(_ reference: String = "request", browser: String? = nil, source: String = "a") async throws
        -> SignInView
    {
        try await self.engine.signIns.begin(
            reference: reference, browser: browser ?? self.browser, requester: self.requester, source: source)
    }

    /// Begins a sign-in and redeems its QR code.
    func claimSignIn(_ reference: String = "request") async throws -> ReturnUAFRequest {
        let view = try await self.beginSignIn(reference)
        return try await self.engine.redemptions.redeem(
            token: try TestPhone.token(view.codes?.qrContent ?? ""), operation: .authentication)
    }

    /// Dispatches a transaction to an account by QR code.
    func dispatch(_ text: String, to account: AccountRecord) async throws -> DispatchAnswer {
        try await self.engine.dispatches.dispatch(
            DispatchRequest(
                dispatcher: "link-png-qr-code", operation: .authentication,
                context: [
                    "subject": .string("bank|\(account.id)"),
                    "transaction": .array([.object(Transaction(content: Array(text.utf8)).json)]),
                ]),
            client: self.bank)
    }
}
