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

/// The sign-in of an app: signs a person in, and keeps the person signed in.
///
/// An app creates one instance, and keeps it for the app's whole life:
///
/// ```swift
/// let signIn = try await SignIn(configuration, platform: platform)
/// switch try signIn.kept {
/// case .session: try await signIn.restore(prompt: SystemPrompt(reason: "Open your records"))
/// default: try await signIn.withBrowser { await screen.askForBiometrics() }
/// }
/// ```
///
/// Its functions throw ``SignInError``, whose codes state the remedy for the app, and `CancellationError` if the task
/// was cancelled.
public struct SignIn: Sendable {
    /// Asks the person for permission to use finger or face next time. The SDK calls the function once, because the
    /// answer is remembered.
    public typealias BiometricOffer = @Sendable () async -> Bool

    /// Asks for a code of the person's authenticator app; `nil` if the person gives up. If the code was wrong, the SDK
    /// calls the function again, and the question says so.
    public typealias SecondFactorPrompt = @Sendable (SecondFactorQuestion) async -> String?

    /// The kept data that an app finds at its start, before the app asks the person anything.
    public enum Kept: Hashable, Sendable {
        /// Nothing is kept. Show the sign-in screen.
        case nothing
        /// A session that opens without a question: ``SignIn/restore(prompt:)``.
        case session
        /// A session behind the person's finger or face: ``SignIn/restore(prompt:)``.
        case guardedSession
        /// A name and a password behind the person's finger or face: ``SignIn/withSavedPassword(prompt:secondFactor:)``.
        case guardedPassword
    }

    let core: SignInCore

    /// Initialises the sign-in. The function sends nothing, except orders to revoke that an earlier sign-out could not
    /// send. These orders are sent in the background, and again at the next start if the network is still missing.
    ///
    /// The first start after an install deletes the data that an earlier install has left on the device.
    ///
    /// Throws ``SignInError``: `storageError`, and `misconfigured` if the server's address is neither `https` nor this
    /// device, if the app's registration has no name, or if the transport cannot enforce the configuration's pins.
    public init(
        _ configuration: SignInConfiguration, platform: SignInPlatform,
        transport: any Transport = URLSessionTransport(), traceRecorder: TraceRecorder? = nil
    ) async throws {
        guard SecureChannel.isSecure(configuration.baseURL), !configuration.clientID.isEmpty else {
            throw SignInError(.misconfigured, "the server's address is not secure, or the app has no name")
        }
        let core = try await Self.running {
            SignInCore(
                configuration: configuration, platform: platform,
                transport: try transport.enforcing(configuration.tlsPins), traceRecorder: traceRecorder)
        }
        self.core = core
        try await Self.running { try await core.start() }
        Task { try? await core.sendOrders() }
    }

    /// The data that is kept on the device. Reading uses no dialog, no sensor and no network. Throws ``SignInError``
    /// `storageError`, `storageNewer`.
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

    /// The error of a sign-in with the browser that was interrupted by the end of the app, in the last ten minutes:
    /// ``SignInError`` `interrupted`, whose text can be shown. `nil` if no sign-in was interrupted.
    ///
    /// Read this property at the app's start. The interrupted sign-in cannot be finished, because its secrets have
    /// ended with the process: ignore the address with which the browser returns, show the text, and call
    /// ``withBrowser(offeringBiometrics:)``. The browser may be signed in by now, and then asks the person nothing. An
    /// open sign-in in another process of this app counts too. Throws ``SignInError`` `storageError`.
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

    /// The time during which an interrupted sign-in is reported: no page of a server waits longer.
    private static let interruptionLifetime = Duration.seconds(600)

    /// `true` if a person is signed in now, in this process.
    public var isSignedIn: Bool { get async { await self.core.live != nil } }

    /// `true` if the person wants to use finger or face next time; `nil` if the person has not been asked. Throws
    /// ``SignInError`` `storageError`.
    public var wantsBiometrics: Bool? {
        get throws {
            do { return try self.core.store.choice() } catch { throw SignInError.translating(error) }
        }
    }

    /// Changes the person's choice about finger and face, for a switch in the app's settings. With `true`, a running
    /// session is put behind the person's finger or face. With `false`, the session is forgotten when the app ends, and
    /// at once by the app's other processes; a saved name and password are deleted. While no person is signed in,
    /// `false` also forgets a session that lies behind a finger or face: the session ends at the server by expiry,
    /// because its token cannot be named.
    ///
    /// If the app's configuration keeps no session behind a finger or face, `true` changes the choice alone. `false`
    /// then also applies to a session that an earlier configuration has put there. With
    /// ``SignInConfiguration/Keeping/onThisDevice`` a running session stays on the device, and opens without a question.
    ///
    /// Throws ``SignInError``, and leaves the choice unchanged: `biometricsUnavailable` if no finger or face is
    /// enrolled; `renewedElsewhere` if another process has renewed the session. This process is then signed out until
    /// ``restore(prompt:)`` opens the session again. `notSignedIn` if the person has signed out meanwhile.
    public func setBiometrics(_ areWanted: Bool) async throws {
        try await Self.running {
            let isPossible = try await self.core.platform.biometricKeys?.isEnrolled() ?? false
            guard isPossible || !areWanted else {
                throw SignInError(.biometricsUnavailable, "no finger or face is enrolled")
            }
            try await self.core.setGuarded(areWanted)
            let store = self.core.store
            try await store.alone {
                try store.setChoice(areWanted)
                if !areWanted { try store.removeCredentials() }
            }
        }
    }

    /// Signs in with the system's browser.
    ///
    /// In the browser the person chooses an identity provider, and authenticates; the app never sees the
    /// authentication. The browser's answer is accepted if it names the new state and the server that was asked. The
    /// new session ends a present session, and deletes a saved name and password.
    ///
    /// - Parameter offer: Called after the server has accepted the person, if a finger or a face is enrolled and the
    ///   person has not been asked before; with `nil` the person is not asked.
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

    /// Signs in with the kept session. If the session lies behind a finger or face, the function asks for it. If a
    /// person is already signed in, the function does nothing. The session is renewed at the server, and only once for
    /// all calls at the same time.
    ///
    /// If the person gives up, nothing is lost (`cancelled`). If the enrolled fingers or faces have changed, the
    /// session is lost (`biometricsChanged`).
    public func restore(prompt: SystemPrompt = SystemPrompt()) async throws {
        let recording = self.core.server.newRecording()
        try await Self.showing(recording) { _ = try await self.core.restored(prompt, recording) }
    }

    /// Returns the header fields with which the app calls its own back end: an access token, which is renewed if it is
    /// about to expire, and a proof for this request if the token is bound to this device.
    ///
    /// - Parameters:
    ///   - method: The request's method, in upper case.
    ///   - url: The request's address.
    ///   - nonce: The value that the back end has requested in an answer's field `DPoP-Nonce`; without it, the server's
    ///     value is used.
    ///   - refused: The `Authorization` field that the back end has refused (401), for a single further try. The token
    ///     in the field is renewed, once for all requests with the refused token.
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

    /// Signs out. When the function returns, the device has nothing left except the person's choice about finger and
    /// face. The server is told to end the session and everything that was derived from the session.
    ///
    /// Without a network, one order to revoke stays until the server receives it. The key without which the order's
    /// tokens are useless is deleted at once.
    ///
    /// Returns `true` if the server has received the whole order. The result is `false` if a session lies behind a
    /// finger or a face that was not opened, because its token cannot be named. Call ``restore(prompt:)`` before, or
    /// the session ends at the server by expiry. The same applies to a session that a saved password began in an
    /// earlier process, until ``withSavedPassword(prompt:secondFactor:)`` has ended that session.
    ///
    /// Throws ``SignInError`` `storageError` if something could not be deleted; everything else is deleted.
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

    /// Sends the orders that earlier sign-outs could not send. Meant for an app that learns that the network is back.
    /// Throws ``SignInError`` `networkError` if an order could not be sent again; the order stays.
    public func sendOrders() async throws { try await Self.running { try await self.core.sendOrders() } }

    // MARK: Parts

    /// Begins a new session, and asks the person about finger and face if necessary.
    func begin(
        _ tokens: IssuedTokens, provenBy key: ProofKey, _ offer: BiometricOffer?, _ recording: Recording
    ) async throws {
        var isGuarded = false
        if case .behindBiometrics = self.core.configuration.keeping, tokens.refreshToken != nil {
            isGuarded = try await self.biometricsWanted(offer, recording)
        }
        try await self.core.begin(tokens, provenBy: key, keeping: isGuarded, recording)
    }

    /// Returns the person's choice. The person is asked if no choice exists yet and a finger or face is enrolled.
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

    /// Runs an operation for which the person waits. The app shows the person every kind of end.
    static func showing(_ recording: Recording, _ body: () async throws -> Void) async throws {
        defer { recording.note(.resultShown) }
        try await Self.running(body)
    }

    /// Runs a part of an operation, and translates its errors into the errors of this face.
    static func running<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw SignInError.translating(error)
        }
    }
}

extension SignIn: CustomReflectable {
    /// A mirror without children, because the object holds tokens and keys.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
