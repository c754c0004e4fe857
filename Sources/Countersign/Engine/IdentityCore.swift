import Ceremony
import JOSE
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The shared core of all processes of personalised identities. Its storage is separate from the storage of operations:
/// neither knows the other's keys.
struct IdentityCore: Sendable, CustomReflectable, CustomStringConvertible {
    var description: String { "IdentityCore" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The prefix of the names of all stored values.
    private static let scope = "identity-"

    let configuration: IdentityConfiguration
    let platform: DevicePlatform
    let module: AuthenticatorModule
    let register: IdentityRegister
    let facetID: FacetID
    let servers: IdentityServers
    private let channel: SecureChannel
    private let traceRecorder: TraceRecorder?
    /// The queue that makes the keys of PINs.
    let pinKeys = PinKeyQueue()
    /// The keys of devices that have proven an activation's PIN, and do not belong to an identity yet.
    let newDevices = NewDevices()
    /// The turns of each server: operations that make, change or settle its identities run one after the other.
    private let turns = ExclusiveUse<ExactText>()
    /// The turns of each session: its steps run one after the other.
    private let steps = ExclusiveUse<ExactText>()
    /// The numbers of the last signatures that were sent for each activation.
    let signatures = LastSignatures()
    /// The claims that were sent and whose answer was lost. They are kept here, because a person who scans the same
    /// code once more begins with other data.
    let claims = UnansweredRequests<SentClaim>()

    /// Creates the core. Throws ``StorageError``, and ``EngineError`` `misconfigured`, `JOSEError`, `JSONError` or
    /// `UAFError` for an invalid configuration.
    init(
        configuration: IdentityConfiguration, platform: DevicePlatform, transport: any Transport,
        traceRecorder: TraceRecorder?
    ) async throws {
        var roots: [ExactText: JWKSet] = [:]
        for server in configuration.servers {
            guard let url = URL(string: server.idmIdentifier), SecureChannel.isSecure(url) else {
                throw EngineError(.misconfigured, "the address of a server")
            }
            roots[ExactText(server.idmIdentifier)] = try server.roots()
        }
        guard !roots.isEmpty else { throw EngineError(.misconfigured, "no server") }
        var own = platform
        own.storage = ScopedStorage(storage: platform.storage, scope: Self.scope)
        let register = try IdentityRegister(storage: own.storage)
        let facetID = try FacetID(configuration.facetID)
        let module = try AuthenticatorModule(
            platform: own, configuration: AuthenticatorModule.Configuration(callerID: facetID))
        // Factors of a process that was cut off before the server's answer have no owner.
        try await module.deleteAll(except: Set(register.identities.flatMap { $0.keys + $0.unconfirmed }))
        self.configuration = configuration
        self.platform = own
        self.module = module
        self.register = register
        self.facetID = facetID
        self.servers = IdentityServers(roots: roots, register: register, clock: own.clock)
        self.channel = SecureChannel(transport: transport)
        self.traceRecorder = traceRecorder
    }

    /// Runs `body` while nothing else makes, changes or settles an identity of the server. `body` must not call this
    /// function again.
    ///
    /// Throws ``EngineError`` `foreignHost`, `CancellationError` and the errors of `body`.
    func serially<Value: Sendable>(at server: String, _ body: @Sendable () async throws -> Value) async throws -> Value
    {
        _ = try self.servers.roots(of: server)
        return try await self.turns.run([ExactText(server)], body)
    }

    /// Runs a step of a session, by its identifier, while no other step of the session runs. `body` must not call this
    /// function again.
    ///
    /// Throws `CancellationError` and the errors of `body`.
    func inTurn<Value: Sendable>(_ session: String, _ body: @Sendable () async throws -> Value) async throws -> Value {
        try await self.steps.run([ExactText(session)], body)
    }

    /// Creates a new exchange with a server. All requests of an exchange carry the same trace id, by which a trace
    /// names them.
    func exchange(with server: String) -> ManagerExchange {
        ManagerExchange(
            servers: self.servers, register: self.register, module: self.module, platform: self.platform,
            channel: self.channel, recording: Recording(recorder: self.traceRecorder, random: self.platform.random),
            networkTimeout: self.configuration.networkTimeout, server: server)
    }

    /// Returns the identity of a server, whose keys sign. Throws ``EngineError``: the errors of ``keptIdentity(of:)``,
    /// and `appRenamed`.
    func identity(of server: String) throws -> StoredIdentity {
        let identity = try self.keptIdentity(of: server)
        guard let former = self.formerName(of: identity) else { return identity }
        throw EngineError(
            .appRenamed(former: former), "this app was called \(former) when it was enrolled; now \(self.facetID.text)")
    }

    /// Returns the identity of a server, even if its keys cannot sign. Throws ``EngineError``: `foreignHost`, and
    /// `unknownAccount` if no identity exists.
    func keptIdentity(of server: String) throws -> StoredIdentity {
        _ = try self.servers.roots(of: server)
        guard let identity = self.register.identity(of: server) else {
            throw EngineError(.unknownAccount, "no identity of that server")
        }
        return identity
    }

    /// Returns the app's name at the time when an identity was made; `nil` if the app has the same name now.
    func formerName(of identity: StoredIdentity) -> String? {
        guard let facet = identity.facet else { return self.module.formerName(of: identity.keys) }
        return facet.hasSameBytes(as: self.facetID.text) ? nil : facet
    }

    /// Returns the device's report about its security. Throws the errors of the app's inspection, and `IdentityProblem`
    /// if the app's own policy requires more.
    func securityReport() async throws -> SecurityReport? {
        guard let result = try await self.securityCheck() else { return nil }
        let reasons = self.configuration.securityPolicy(result)
        guard reasons.isEmpty else { throw IdentityProblem(.securityInsufficient, reasons: reasons) }
        return SecurityReport(
            date: Timestamp(milliseconds: Int64((result.date.timeIntervalSince1970 * 1000).rounded(.down))),
            checkVersion: Int(result.checkVersion), osVersion: result.osVersion, isRooted: result.isRooted,
            isHooked: result.isHooked)
    }

    /// Inspects the device; returns `nil` if the app has no inspection.
    func securityCheck() async throws -> SecurityCheckResult? {
        guard let inspection = self.configuration.securityInspection else { return nil }
        return SecurityCheckResult(try await inspection.inspect(), at: self.platform.clock.now())
    }

    /// Removes an identity's factors from this device, and keeps the data that is needed to tell the server.
    @discardableResult
    func end(_ identity: StoredIdentity) async throws -> StoredIdentity? {
        let before = self.register.kept(identity)
        let facet = self.formerName(of: identity) ?? self.facetID.text
        let ended = try self.register.change(identity) { identity in
            identity.state = .ending
            identity.facet = facet
            identity.keys = []
            identity.unconfirmed = []
            identity.sent = nil
            identity.pin = nil
        }
        // Only the identity's own keys are deleted: keys that were made a moment ago for another identity may not be
        // stored yet.
        for key in [identity, before].compactMap(\.self).flatMap({ $0.keys + $0.unconfirmed }) {
            try await self.module.deregister(appID: identity.appID, aaid: key.aaid, keyID: key.keyID)
        }
        return ended
    }

    /// Forgets everything of an identity.
    func forget(_ identity: StoredIdentity) async throws {
        try await self.end(identity)
        guard self.newDevices.contains(identity.device) else {
            try self.module.deleteIdentity(identity.device)
            try self.register.remove(identity)
            return
        }
        try self.register.remove(identity)
        // The new device may have given up the keys while the identity still had them.
        if !self.newDevices.contains(identity.device) { try self.module.deleteIdentity(identity.device) }
    }
}
