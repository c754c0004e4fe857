import Ceremony
import JOSE
import OAuth
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A session in the running app. The access token exists only here.
struct LiveSession: Sendable {
    /// The number of the session in this process.
    let serial: Int
    let accessToken: String
    let isBound: Bool
    /// The end of the access token, by the clock that nobody can set.
    let expiresAt: Duration
    /// The refresh token; `nil` if the server issued no refresh token.
    let refreshToken: String?
    /// The key to which the session's tokens are bound.
    let proofKey: ProofKey
    /// The mark of the kept session that belongs to this session; `nil` if nothing is kept.
    let mark: KeptSession.Mark?
}

/// The shared state of a sign-in: the signed-in session, and the single renewal that runs at a time.
actor SignInCore {
    /// The remaining lifetime at which an access token is renewed. The token still has to reach the receiver.
    private static let margin = Duration.seconds(10)
    /// The lifetime of an access token if the server states none.
    private static let usualLifetime = Duration.seconds(300)

    /// The maximum number of times that an order is sent to a server that gives no proper answer.
    private static let maximumUnheard: Int64 = 8

    /// The error codes that refuse a proof, and not the token sent with the proof.
    private static let ofProofs = [OAuthError.Code.useDPoPNonce.rawValue, OAuthError.Code.invalidDPoPProof.rawValue]

    nonisolated let configuration: SignInConfiguration
    nonisolated let platform: SignInPlatform
    nonisolated let server: SignInServer
    nonisolated let store: SignInStore
    private(set) var live: LiveSession?
    private var renewing: Task<LiveSession, any Error>?
    private var serial = 0
    /// The number of sign-ins and sign-outs in this process. An operation that began before the last of them no longer
    /// counts.
    private(set) var era = 0

    init(
        configuration: SignInConfiguration, platform: SignInPlatform, transport: any Transport,
        traceRecorder: TraceRecorder?
    ) {
        self.configuration = configuration
        self.platform = platform
        self.server = SignInServer(
            configuration: configuration, transport: transport, clock: platform.clock, random: platform.random,
            traceRecorder: traceRecorder)
        self.store = SignInStore(
            storage: platform.storage, sharedStorage: platform.sharedStorage, biometricKeys: platform.biometricKeys,
            random: platform.random, registration: configuration.registration, issuer: configuration.issuer)
    }

    /// Deletes the data of an earlier install at the first start after an install. The mark is set last: a start that
    /// was cut off deletes the data again.
    func start() throws {
        if try !self.platform.installation.isSet() {
            try self.store.wipe()
            try self.platform.installation.set()
        }
        // The server never accepted the saved credentials, or its acceptance did not arrive here.
        if let saved = try self.store.credentials(), !saved.isGood { try self.store.removeCredentials() }
    }

    // MARK: Signing in

    /// Replaces any present session by a new session: first on the device, if the session is kept, then in memory. The
    /// earlier session ends on the device, and an order is made to end it at the server.
    ///
    /// - Parameter credentials: The saved name and password with which this sign-in was made; `nil` deletes any saved
    ///   name and password.
    func begin(
        _ tokens: IssuedTokens, provenBy key: ProofKey, keeping isGuarded: Bool, by credentials: UsedCredentials? = nil,
        _ recording: Recording
    ) async throws {
        let former = self.live
        self.live = nil
        self.era += 1
        let (era, store) = (self.era, self.store)
        let isKept = tokens.refreshToken != nil && (isGuarded || self.configuration.keeping == .onThisDevice)
        if isKept { recording.note(.tokenSaved) }
        let (mark, replaces) = try await store.alone {
            let kept = try store.sessionToEnd().session
            let orders = try self.orders(
                for: former, kept, begunBySaved: credentials?.formerSession, replacedBy: tokens.deviceSecret
            ).orders
            if !orders.isEmpty { try store.setOrders(store.orders() + orders) }
            for secret in orders.compactMap(\.deviceSecret) { try store.removeGroup(by: secret) }
            if let credentials, var saved = try store.credentials() {
                let token = isKept ? nil : tokens.refreshToken
                saved.formerSession = try token.map {
                    try GuardedBox.seal(
                        FormerSession(refreshToken: $0).text, to: credentials.key, random: self.platform.random)
                }
                try store.setCredentials(saved)
            } else {
                try store.removeCredentials()
            }
            try store.setDeviceSecret(tokens.deviceSecret)
            if tokens.deviceSecret != nil { recording.note(.deviceSecretSaved) }
            if let idToken = tokens.idToken, let secret = tokens.deviceSecret {
                try store.setGroup(idToken: idToken, deviceSecret: secret)
            }
            let session = try await isKept ? self.kept(tokens.refreshToken ?? "", key, isGuarded: isGuarded) : nil
            try store.setSession(session)
            return (session?.mark, !orders.isEmpty)
        }
        if isKept { recording.note(.tokenKept) }
        guard self.era == era else { throw SignInError(.notSignedIn, "signed out meanwhile") }
        self.live = self.session(tokens, refreshToken: tokens.refreshToken, provenBy: key, mark: mark)
        if replaces {
            // The person is signed in whatever the result of these calls is: an order that is not received stays.
            try? await self.platform.webViews?.clear()
            try? await self.sendOrders()
        }
    }

    /// Returns the record of a new session for the storage. Call this function only alone with the record, because a
    /// new guarded key replaces the key of the record before.
    private nonisolated func kept(_ refreshToken: String, _ proofKey: ProofKey, isGuarded: Bool) async throws
        -> KeptSession
    {
        var session = KeptSession(
            mark: KeptSession.Mark(id: self.platform.random.identifier(), generation: 0),
            registration: self.configuration.registration, proofKey: proofKey, key: nil, tokens: [refreshToken])
        guard isGuarded else { return session }
        guard let box = self.store.sessionBox else { throw SignInError(.biometricsUnavailable, "no biometric keys") }
        let key = try await box.makeKey(guardedBy: self.guardian)
        session.key = key
        session.tokens = [try GuardedBox.seal(refreshToken, to: key, random: self.platform.random)]
        return session
    }

    nonisolated var guardian: BiometricGuard {
        guard case .behindBiometrics(let guardian) = self.configuration.keeping else { return .currentSet }
        return guardian
    }

    /// Puts the running session behind the person's finger or face, or forgets the session on the device. If no session
    /// runs, a session that lies behind a finger or face is forgotten. No renewal runs meanwhile, in this process or in
    /// another process.
    ///
    /// If the configuration keeps no session behind a finger or face, only the end of the guard has an effect, on a
    /// session that an earlier configuration has guarded.
    func setGuarded(_ isGuarded: Bool) async throws {
        let isUsual = if case .behindBiometrics = self.configuration.keeping { true } else { false }
        guard try isUsual || (!isGuarded && self.store.sessionToEnd().session?.key != nil) else { return }
        try await self.platform.storage.withLock(SignInStore.renewalLock) { try await self.setGuardedAlone(isGuarded) }
    }

    private func setGuardedAlone(_ isGuarded: Bool) async throws {
        guard let live, let refreshToken = live.refreshToken else {
            guard !isGuarded else { return }
            // A session that is not guarded stays.
            let kept = try self.store.session()
            try await self.changeRecord(of: kept?.mark, in: self.era) { before in before?.key == nil ? before : nil }
            return
        }
        let mark = try await self.changeRecord(of: live.mark, in: self.era) { before in
            // A session that already lies behind the finger or face stays there, with its key.
            guard !isGuarded || before?.key == nil else { return before }
            guard isGuarded || self.configuration.keeping == .onThisDevice else { return nil }
            return try await self.kept(refreshToken, live.proofKey, isGuarded: isGuarded)
        }
        self.live = LiveSession(
            serial: live.serial, accessToken: live.accessToken, isBound: live.isBound, expiresAt: live.expiresAt,
            refreshToken: refreshToken, proofKey: live.proofKey, mark: mark)
    }

    /// Changes the kept session if the session is still the same as at the start of the change, and nobody has signed
    /// in or out in this process since: the record of another session must not be overwritten. Otherwise this process
    /// loses its session.
    @discardableResult
    private func changeRecord(
        of mark: KeptSession.Mark?, in era: Int,
        _ change: @escaping @Sendable (KeptSession?) async throws -> KeptSession?
    ) async throws -> KeptSession.Mark? {
        let store = self.store
        do {
            let after = try await store.alone {
                let before = try store.session()
                guard await self.era == era, before != nil || mark == nil else {
                    throw SignInError(.notSignedIn, "signed out meanwhile")
                }
                guard before?.mark == mark else { throw SignInError(.renewedElsewhere) }
                let after = try await change(before)
                try store.setSession(after)
                return after?.mark
            }
            guard self.era == era else { throw SignInError(.notSignedIn, "signed out meanwhile") }
            return after
        } catch let error as SignInError where [.notSignedIn, .renewedElsewhere].contains(error.code) {
            if self.era == era { self.live = nil }
            throw error
        }
    }

    /// Forgets a session that can no longer be opened, unless another session has taken its place.
    private func forget(_ mark: KeptSession.Mark?, in era: Int) async throws {
        guard self.era == era else { return }
        self.live = nil
        let store = self.store
        try await store.alone {
            guard await self.era == era, try store.session()?.mark == mark else { return }
            try store.removeSession()
        }
    }

    private func session(
        _ tokens: IssuedTokens, refreshToken: String?, provenBy key: ProofKey, mark: KeptSession.Mark?
    ) -> LiveSession {
        self.serial += 1
        let lifetime = tokens.lifetime > .zero ? tokens.lifetime : Self.usualLifetime
        return LiveSession(
            serial: self.serial, accessToken: tokens.accessToken, isBound: tokens.isBound,
            expiresAt: self.platform.clock.uptime() + lifetime, refreshToken: refreshToken, proofKey: key, mark: mark)
    }

    // MARK: Being signed in

    /// Returns the session with an access token that is valid for a while; renews the token if necessary.
    func current(_ recording: Recording) async throws -> LiveSession {
        guard let live else { throw SignInError(.notSignedIn) }
        guard self.platform.clock.uptime() + Self.margin >= live.expiresAt else { return live }
        return try await self.renewed(after: live, recording)
    }

    /// Returns a session with another access token than `old`, whose token a resource has refused or whose time is
    /// over.
    func renewed(after old: LiveSession, _ recording: Recording) async throws -> LiveSession {
        if let live, live.serial != old.serial { return live }
        return try await self.sharing { try await $0.renewLive(recording) }
    }

    /// Signs in with the kept session.
    func restored(_ prompt: SystemPrompt, _ recording: Recording) async throws -> LiveSession {
        if let live { return live }
        return try await self.sharing { try await $0.renewKept(prompt, recording) }
    }

    /// Shares one renewal among all callers: a caller that comes during a renewal gets the result of this renewal. The
    /// renewal continues if a caller is cancelled; the cancelled caller stops waiting.
    private func sharing(_ renewal: @escaping @Sendable (isolated SignInCore) async throws -> LiveSession) async throws
        -> LiveSession
    {
        let task =
            self.renewing
            ?? Task {
                defer { self.renewing = nil }
                return try await renewal(self)
            }
        self.renewing = task
        let (results, continuation) = AsyncThrowingStream<LiveSession, any Error>.makeStream()
        Task {
            continuation.yield(with: await task.result)
            continuation.finish()
        }
        // A stream ends for a cancelled caller.
        for try await session in results { return session }
        throw CancellationError()
    }

    private func renewLive(_ recording: Recording) async throws -> LiveSession {
        try await self.platform.storage.withLock(SignInStore.renewalLock) { try await self.renewLiveAlone(recording) }
    }

    /// Renews the session within the lock. The result of another process counts, and not the memory of this process.
    private func renewLiveAlone(_ recording: Recording) async throws -> LiveSession {
        guard let live else { throw SignInError(.notSignedIn) }
        guard let refreshToken = live.refreshToken else {
            // The resource that refused the access token is one of many: the session stays until the token's time is
            // over.
            if self.platform.clock.uptime() + Self.margin >= live.expiresAt { self.live = nil }
            throw SignInError(.sessionEnded, "the server gave nothing to renew with")
        }
        guard let mark = live.mark else {
            return try await self.renew(by: [refreshToken], provenBy: live.proofKey, from: nil, recording)
        }
        guard let kept = try self.store.session() else {
            self.live = nil
            throw SignInError(.notSignedIn, "another process has signed out")
        }
        guard kept.mark == mark || (kept.mark.id.hasSameBytes(as: mark.id) && kept.key == nil) else {
            self.live = nil
            throw SignInError(.renewedElsewhere)
        }
        let tokens = kept.mark == mark ? [refreshToken] : kept.tokens
        return try await self.renew(by: tokens, provenBy: kept.proofKey, from: kept, recording)
    }

    private func renewKept(_ prompt: SystemPrompt, _ recording: Recording) async throws -> LiveSession {
        let era = self.era
        recording.note(.tokenSought)
        guard let found = try self.store.session() else { throw SignInError(.notSignedIn, "nothing is kept") }
        recording.note(.tokenFound)
        var opened: OpenedBox?
        if found.key != nil {
            guard let box = self.store.sessionBox else { throw SignInError(.misconfigured, "no biometric keys") }
            opened = try await self.forgetting(found, in: era) {
                recording.note(.biometricsAsked)
                let opened = try await box.open(prompt)
                recording.note(.biometricsGiven)
                return opened
            }
        }
        let box = opened
        return try await self.platform.storage.withLock(SignInStore.renewalLock) {
            // Another process may have renewed the session while the person was asked: the key is the same.
            guard let kept = try self.store.session() else { throw SignInError(.notSignedIn, "nothing is kept") }
            guard kept.mark.id.hasSameBytes(as: found.mark.id) else { throw SignInError(.renewedElsewhere) }
            recording.note(.tokenUnlocked)
            let tokens = try await self.forgetting(kept, in: era) {
                try kept.key == nil ? kept.tokens : kept.tokens.map { try box?.read($0) ?? $0 }
            }
            recording.note(.tokenReleased)
            return try await self.renew(by: tokens, provenBy: kept.proofKey, from: kept, recording)
        }
    }

    /// Opens a kept session; forgets the session if it can no longer be opened.
    private func forgetting<Value: Sendable>(
        _ kept: KeptSession, in era: Int, _ open: @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            return try await open()
        } catch let error as SignInError where [.biometricsChanged, .notSignedIn].contains(error.code) {
            // The app needs the reason. A session that cannot be forgotten now is forgotten at the next try.
            try? await self.forget(kept.mark, in: era)
            throw error
        }
    }

    /// Renews the session with the first token that the server accepts: the newest token, or the token before if the
    /// app was killed before it forgot that token.
    private func renew(
        by tokens: [String], provenBy key: ProofKey, from kept: KeptSession?, _ recording: Recording
    ) async throws -> LiveSession {
        let era = self.era
        for token in tokens {
            guard
                let issued = try await self.issued(
                    self.configuration.spoken.renewal(by: token), key: key.signing, recording, noting: .renewalWanted)
            else {
                continue
            }
            guard self.era == era else { throw SignInError(.notSignedIn, "signed out meanwhile") }
            let session =
                if let kept {
                    try await self.keep(issued, insteadOf: token, from: kept, in: era)
                } else {
                    self.session(issued, refreshToken: issued.refreshToken ?? token, provenBy: key, mark: nil)
                }
            self.live = session
            return session
        }
        try? await self.forget(kept?.mark, in: era)
        throw SignInError(.sessionEnded, "the server refused what was kept")
    }

    /// Stores the new token on the device before the old token is forgotten. If the new token cannot be written, the
    /// old token stays valid, in memory and on the device: the server accepts the old token until the new one was used.
    private func keep(_ issued: IssuedTokens, insteadOf old: String, from kept: KeptSession, in era: Int) async throws
        -> LiveSession
    {
        guard let new = issued.refreshToken, !constantTimeEqual(Array(new.utf8), Array(old.utf8)) else {
            return self.session(issued, refreshToken: old, provenBy: kept.proofKey, mark: kept.mark)
        }
        var next = kept
        next.mark.generation += 1
        next.tokens = try [new, old].map { token in
            try kept.key.map { try GuardedBox.seal(token, to: $0, random: self.platform.random) } ?? token
        }
        let both = next
        next.tokens = [next.tokens[0]]
        let newest = next
        do {
            try await self.changeRecord(of: kept.mark, in: era) { _ in both }
        } catch is StorageError {
            // Nothing is lost: the access token is valid, and the old refresh token renews it again.
            return self.session(issued, refreshToken: old, provenBy: kept.proofKey, mark: kept.mark)
        }
        do {
            try await self.changeRecord(of: both.mark, in: era) { _ in newest }
        } catch let error as SignInError {
            throw error
        } catch {
            // Keeping the old token does no harm: the new token is tried first.
        }
        return self.session(issued, refreshToken: new, provenBy: kept.proofKey, mark: newest.mark)
    }

    /// Returns the server's tokens for a form; `nil` if the server says that the token in the form is invalid.
    func issued(_ form: FormRequest, key: SigningKey?, _ recording: Recording, noting event: TraceEvent)
        async throws -> IssuedTokens?
    {
        let response = try await self.server.post(form, key: key, recording, noting: event)
        let body = self.server.body(of: response)
        let face = self.configuration.spoken
        switch response.status {
        case 200: return try face.tokens(in: body)
        // The sign-in service answers 401 to every refresh token that it does not accept.
        case 400, 401, 403:
            let refusal = face.refusal(in: body).map(SignInError.word) ?? "status \(response.status)"
            let isOver =
                self.configuration.face == .openID
                ? refusal.hasSameBytes(as: OAuthError.Code.invalidGrant.rawValue)
                : response.status == 401 && !Self.ofProofs.containsBytes(of: refusal)
            guard !isOver else { return nil }
            throw SignInError(.refused, serverCode: refusal, "status \(response.status)")
        case 408, 429, 500...: throw SignInError(.networkError, "status \(response.status)")
        default: throw SignInError(.protocolError, "status \(response.status)")
        }
    }

    /// Returns the server's tokens for a code. Throws ``SignInError`` if the server issues none.
    func exchanged(_ form: FormRequest, key: SigningKey, _ recording: Recording) async throws -> IssuedTokens {
        guard let tokens = try await self.issued(form, key: key, recording, noting: .sessionWanted) else {
            throw SignInError(.refused, serverCode: "invalid_grant", "the code was refused")
        }
        return tokens
    }

    // MARK: Signing out

    /// Forgets everything on the device, and stores orders to end the sessions at the server. Returns once the device
    /// has nothing left: `true` if the orders could name all sessions.
    func end() async throws -> Bool {
        let former = self.live
        self.live = nil
        self.era += 1
        let store = self.store
        return try await store.alone {
            let (kept, isReadable) = try store.sessionToEnd()
            let (orders, areAll) = try self.orders(for: former, kept, begunBySaved: nil, replacedBy: nil)
            // A saved password may have begun a session in an earlier process, and the token of that session lies
            // behind the finger.
            let isNamed = try former != nil || store.credentials()?.formerSession == nil
            // The device deletes its data even if an order cannot be stored or the shared data cannot be removed.
            let results: [Result<Void, any Error>] = [
                Result { if !orders.isEmpty { try store.setOrders(store.orders() + orders) } },
                Result { for secret in orders.compactMap(\.deviceSecret) { try store.removeGroup(by: secret) } },
                Result { try store.removeSession() },
            ]
            for result in results { try result.get() }
            return areAll && isReadable && isNamed
        }
    }

    /// Returns the orders to end the sessions in memory and on the device at the server, and `true` if the orders are
    /// complete. A token that lies behind a finger, and is not in memory too, cannot be named.
    private nonisolated func orders(
        for live: LiveSession?, _ kept: KeptSession?, begunBySaved former: FormerSession?,
        replacedBy newSecret: String?
    ) throws -> (orders: [RevocationOrder], areAll: Bool) {
        var tokens: [String?]
        var areAll = true
        switch kept {
        case nil: tokens = [live?.refreshToken]
        case let kept? where kept.mark == live?.mark: tokens = [live?.refreshToken]
        case let kept? where kept.key == nil: tokens = [kept.tokens.first]
        default:
            tokens = [nil]
            areAll = false
        }
        // This covers a session that exists only in this process, and a session whose newest token this process does
        // not know: an older token is better than none.
        if kept != nil, let live, live.mark?.id != kept?.mark.id || !areAll { tokens.insert(live.refreshToken, at: 0) }
        if let former, live == nil {
            // The device's secret goes with a session if one exists.
            if tokens == [nil] { tokens = [former.refreshToken] } else { tokens.insert(former.refreshToken, at: 0) }
        }
        var secret = try self.store.deviceSecret()
        if let old = secret, let newSecret, constantTimeEqual(Array(old.utf8), Array(newSecret.utf8)) { secret = nil }
        let orders = tokens.indices.map { index in
            RevocationOrder(
                id: self.platform.random.identifier(), registration: self.configuration.registration,
                refreshToken: tokens[index], deviceSecret: index == tokens.count - 1 ? secret : nil)
        }
        return (orders.filter { !self.configuration.spoken.revocations(of: $0).isEmpty }, areAll)
    }

    /// Sends the stored orders to the server, as far as the network allows. An order counts as received if the server
    /// accepted it, or refused it with a proper error. Any other answer comes from another system, and after several
    /// such answers the order is given up.
    func sendOrders() async throws {
        let recording = self.server.newRecording()
        let (store, spoken) = (self.store, self.configuration.spoken)
        var unheard: Int?
        for order in try store.orders() where order.registration.hasSameBytes(as: self.configuration.registration) {
            var isHeard = true
            for form in spoken.revocations(of: order) {
                let response = try await self.server.post(form, key: nil, recording, noting: .revocationWanted)
                switch response.status {
                case 200: break
                case 400...403 where spoken.refusal(in: self.server.body(of: response)) != nil: break
                case 408, 429, 500...: throw SignInError(.networkError, "status \(response.status)")
                default:
                    isHeard = false
                    unheard = response.status
                }
            }
            let isDone = isHeard || order.unheardCount + 1 >= Self.maximumUnheard
            try await store.alone {
                let orders = try store.orders().compactMap { other in
                    guard other.id.hasSameBytes(as: order.id) else { return RevocationOrder?.some(other) }
                    var counted = other
                    counted.unheardCount += 1
                    return isDone ? nil : counted
                }
                try store.setOrders(orders)
            }
        }
        if let unheard { throw SignInError(.networkError, "status \(unheard)") }
    }
}
