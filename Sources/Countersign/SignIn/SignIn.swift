public import Ceremony
import JOSE
import OAuth
public import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Signs a person in to an app, and keeps them signed in.
///
/// One for an app, kept for the app's life:
///
/// ```swift
/// let signIn = try await SignIn(configuration, platform: platform)
/// switch try signIn.kept {
/// case .session: try await signIn.restore(prompt: SystemPrompt(reason: "Open your records"))
/// default: try await signIn.withBrowser { await screen.askForBiometrics() }
/// }
/// ```
///
/// Its functions throw ``SignInError``, whose codes say what the app does next, and `CancellationError` where the task was
/// cancelled.
public struct SignIn: Sendable {
    /// Asks the person whether they want to use finger or face next time. It is called once: the answer is remembered.
    public typealias BiometricOffer = @Sendable () async -> Bool

    /// Asks for a code of the person's authenticator app; `nil` where the person gives up. It is called again where the code was
    /// wrong, and says so.
    public typealias SecondFactorPrompt = @Sendable (SecondFactorQuestion) async -> String?

    /// What an app finds at its start, before it asks anybody anything.
    public enum Kept: Hashable, Sendable {
        /// Nothing. Show the sign-in screen.
        case nothing
        /// A session that opens without a question: ``SignIn/restore(prompt:)``.
        case session
        /// A session behind the person's finger or face: ``SignIn/restore(prompt:)``.
        case guardedSession
        /// A name and a password behind the person's finger or face: ``SignIn/withSavedPassword(prompt:secondFactor:)``.
        case guardedPassword
    }

    let core: SignInCore

    /// Gets ready. Nothing is sent, but orders to revoke that an earlier sign-out had to leave: they are sent in the
    /// background, and again at the next start where the network is still gone.
    ///
    /// The first start after an install deletes what an earlier install has left on the device.
    ///
    /// Throws ``SignInError``: `storageError`, and `misconfigured` where the server's address is neither `https` nor this
    /// device.
    public init(
        _ configuration: SignInConfiguration, platform: SignInPlatform,
        transport: any Transport = URLSessionTransport(), traceRecorder: TraceRecorder? = nil
    ) async throws {
        guard SecureChannel.isSecure(configuration.baseURL), !configuration.clientID.isEmpty else {
            throw SignInError(.misconfigured, "the server's address is not secure, or the app has no name")
        }
        let core = SignInCore(
            configuration: configuration, platform: platform, transport: transport, traceRecorder: traceRecorder)
        self.core = core
        try await Self.running { try await core.start() }
        Task { try? await core.sendOrders() }
    }

    /// What is kept on the device: no dialog, no sensor, no network. Throws ``SignInError`` `storageError`, `storageNewer`.
    public var kept: Kept {
        get throws {
            do {
                if let session = try self.core.store.session() {
                    return session.key == nil ? .session : .guardedSession
                }
                return try self.core.store.credentials()?.isGood == true ? .guardedPassword : .nothing
            } catch {
                throw SignInError.translating(error)
            }
        }
    }

    /// That the app ended while the person was signing in with the browser, in the last ten minutes: ``SignInError`` `interrupted`,
    /// whose words can be shown. `nil` where nothing was interrupted.
    ///
    /// Ask at the app's start. Nobody can finish that sign-in, as its secrets have ended with the process: pass over the address
    /// that the browser comes back with, say the word, and call ``withBrowser(offeringBiometrics:)``. The browser may be signed
    /// in by now, and then asks the person for nothing. A sign-in that another process of this app has open counts too. Throws
    /// ``SignInError`` `storageError`.
    public var interruption: SignInError? {
        get throws {
            do {
                guard let opened = try self.core.store.browserOpened() else { return nil }
                let age = self.core.platform.clock.now() - opened
                return (.zero..<Self.interruptionLifetime).contains(age) ? SignInError(.interrupted) : nil
            } catch {
                throw SignInError.translating(error)
            }
        }
    }

    /// How long an interrupted sign-in is told of: no server's page waits longer.
    private static let interruptionLifetime = Duration.seconds(600)

    /// Whether somebody is signed in now, in this process.
    public var isSignedIn: Bool { get async { await self.core.live != nil } }

    /// Whether the person wants to use finger or face next time; `nil` where they have not been asked. Throws
    /// ``SignInError`` `storageError`.
    public var wantsBiometrics: Bool? {
        get throws {
            do { return try self.core.store.choice() } catch { throw SignInError.translating(error) }
        }
    }

    /// Changes the person's choice, for a switch in the app's settings. A session that runs goes behind their finger or face,
    /// or is forgotten when the app ends, and by the app's other processes at once.
    ///
    /// Throws ``SignInError``, and nothing is changed: `biometricsUnavailable` where nothing is enrolled to choose,
    /// `renewedElsewhere` where another process has renewed the session, which ``restore(prompt:)`` opens again.
    public func setBiometrics(_ areWanted: Bool) async throws {
        try await Self.running {
            let isPossible = try await self.core.platform.biometricKeys?.isEnrolled() ?? false
            guard isPossible || !areWanted else {
                throw SignInError(.biometricsUnavailable, "no finger or face is enrolled")
            }
            if case .behindBiometrics = self.core.configuration.keeping { try await self.core.setGuarded(areWanted) }
            let store = self.core.store
            try await store.alone {
                try store.setChoice(areWanted)
                if !areWanted { try store.removeCredentials() }
            }
        }
    }

    /// Signs in with the system's browser.
    ///
    /// The person chooses there who vouches for them, and authenticates; the app never sees with what. What comes back is
    /// taken where it names the state that was just made and the server that was asked.
    ///
    /// - Parameter offer: Asked after the server has said yes, where a finger or a face is enrolled and the person has not been
    ///   asked before; `nil` asks nobody.
    public func withBrowser(offeringBiometrics offer: BiometricOffer? = nil) async throws {
        let browser = BrowserSignIn(core: self.core)
        let recording = browser.recording
        recording.note(.signInTapped)
        try await Self.showing(recording) {
            let key = try ProofKey.make(random: self.core.platform.random)
            let tokens = try await browser.tokens(provingBy: key.signing)
            try await self.begin(tokens, provenBy: key, offer, recording)
        }
    }

    /// Signs in with what is kept: asks for finger or face where it lies behind them, and renews it at the server, once
    /// however often this is called meanwhile.
    ///
    /// Where the person gives up, nothing is lost (`cancelled`). Where the enrolled fingers or faces are others than before,
    /// everything is (`biometricsChanged`).
    public func restore(prompt: SystemPrompt = SystemPrompt()) async throws {
        let recording = self.core.server.newRecording()
        try await Self.showing(recording) { _ = try await self.core.restored(prompt, recording) }
    }

    /// The header fields with which the app calls its own back end: an access token, renewed where its time is nearly over,
    /// and where it is bound to this device, a proof for this one request.
    ///
    /// - Parameters:
    ///   - method: The request's method, in upper case.
    ///   - url: The request's address.
    ///   - nonce: What the back end has asked for in an answer's field `DPoP-Nonce`; without it, what the server has.
    ///   - refused: The `Authorization` field that the back end has refused (401), for the one try that follows: the token in
    ///     it is renewed, once for all requests that it was refused to.
    public func authorization(
        method: String, url: URL, nonce: String? = nil, insteadOf refused: String? = nil
    ) async throws -> [(name: String, value: String)] {
        try await Self.running {
            let recording = self.core.server.newRecording()
            var live = try await self.core.current(recording)
            if let token = refused?.splitBytes(at: " ").last,
                constantTimeEqual(Array(token.utf8), Array(live.accessToken.utf8))
            {
                live = try await self.core.renewed(after: live, recording)
            }
            return try self.core.server.authorization(
                method: method, url: url, token: live.accessToken, nonce: nonce,
                key: live.isBound ? live.proofKey.signing : nil)
        }
    }

    /// Signs out. When this returns, nothing is left on this device but the person's choice about finger and face; the server
    /// is told to end the session and all that was spawned from it.
    ///
    /// Where the network is gone, one order to revoke stays until the server has it: the key without which the tokens in it
    /// are worth nothing is deleted at once.
    ///
    /// Returns whether the server has heard of all of it. It has not where a session lies behind a finger or a face that was
    /// not opened, so that its token cannot be named: call ``restore(prompt:)`` before, or that session ends there by its time.
    /// So it is with a session that a saved password has begun in an earlier process, until
    /// ``withSavedPassword(prompt:secondFactor:)`` has ended it.
    /// Throws ``SignInError`` `storageError` where something could not be deleted; the rest is.
    @discardableResult
    public func signOut() async throws -> Bool {
        try await Self.running {
            let isAllNamed = try await self.core.end()
            try? await self.core.platform.webViews?.clear()
            do {
                try await self.core.sendOrders()
                return isAllNamed
            } catch is TransportError {
                return false
            } catch let error as SignInError where error.code == .networkError {
                return false
            }
        }
    }

    /// Sends what earlier sign-outs had to leave, for an app that learns that the network is back.
    public func sendOrders() async throws { try await Self.running { try await self.core.sendOrders() } }

    // MARK: Parts

    /// Takes a new session on, and asks about finger and face where that is to be asked.
    func begin(
        _ tokens: IssuedTokens, provenBy key: ProofKey, _ offer: BiometricOffer?, _ recording: Recording
    ) async throws {
        var isGuarded = false
        if case .behindBiometrics = self.core.configuration.keeping, tokens.refreshToken != nil {
            isGuarded = try await self.biometricsWanted(offer, recording)
        }
        try await self.core.begin(tokens, provenBy: key, keeping: isGuarded, recording)
    }

    /// The person's choice, asked for where there is none yet and something is enrolled to choose.
    func biometricsWanted(_ offer: BiometricOffer?, _ recording: Recording) async throws -> Bool {
        guard let keys = self.core.platform.biometricKeys, try await keys.isEnrolled() else { return false }
        if let choice = try self.core.store.choice() { return choice }
        guard let offer else { return false }
        recording.note(.biometricsOffered)
        let choice = await offer()
        if choice { recording.note(.biometricsAccepted) }
        try self.core.store.setChoice(choice)
        return choice
    }

    /// Runs what the person waits for: however it ends, the app shows it to them.
    static func showing(_ recording: Recording, _ body: () async throws -> Void) async throws {
        defer { recording.note(.resultShown) }
        try await Self.running(body)
    }

    /// Runs a part; what goes wrong there is an error of this face.
    static func running<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw SignInError.translating(error)
        }
    }
}

extension SignIn: CustomReflectable {
    /// Nothing: behind it are tokens and keys.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
