package import Accounts
package import CeremonyEngine
package import Endpoints
import OAuth
package import OAuthProvider
import Settings
package import _Primitives

/// Judges the proofs that an app shows of its person without the sign-in page: a password, a code beside the password,
/// or the person's consent on a phone.
///
/// The same engines judge the sign-in page. A person chooses a new password after a one-time password in a browser. The
/// same holds for every step that this type does not know.
struct DirectSignIns: DirectSignIn {
    let passwords: PasswordSignIns
    let phones: SignIns
    let ways: SignInWays
    let metrics: ServerMetrics
    let time: TimeSource

    /// The time that the app waits from one question to the next.
    private static let interval = JSON.integer(Limits.Fixed.pollingInterval.components.seconds)

    func step(
        _ shown: ShownProof?, of request: DirectRequest, refuse: (ProviderRefusal) -> Void
    ) async throws -> DirectStep {
        let place = PasswordSignIns.Place(
            request: request.id, client: (request.client.id, request.client.name),
            visitor: Visitor(source: request.place.source),
            browser: request.place.browser, address: request.place.address)
        let verdict: PasswordSignIns.Verdict?
        switch shown {
        case nil: return Self.first(of: request)
        case .phone? where request.methods.containsBytes(of: PhoneSignIn.word):
            return try await self.ask(request, refuse)
        case .phonesAnswer? where request.methods.containsBytes(of: PhoneSignIn.word):
            return try await self.look(request, refuse)
        case .password(let username, let password)? where request.methods.containsBytes(of: PasswordSignIn.word):
            verdict = try await self.passwords.attempt(username: username, password: password, at: place)
        case .code(let code)? where request.methods.containsBytes(of: PasswordSignIn.word):
            verdict = try await self.passwords.attempt(
                code: code, at: place, showsReplacement: false)
        case .phone?, .phonesAnswer?, .password?, .code?:
            refuse(Self.refusal(of: request, "people do not sign in to this client so", setting: "--sign-in-method"))
            return Self.first(of: request)
        }
        switch verdict {
        case .right(let stage, _)?:
            self.metrics.count(.passwordAttempts, "right")
            return Self.next(stage, request)
        case .refused(let refusal, _)?:
            let code = "\(Self.word(of: shown))-\(refusal.rawValue)"
            self.metrics.count(.passwordAttempts, code)
            refuse(Self.refusal(of: request, "\(code): \(refusal.words)", setting: refusal.setting))
            // Earlier right proofs stay valid, but a wrong proof signs nobody in.
            let stage = try await self.passwords.stage(request: request.id)
            return stage == .done ? Self.first(of: request) : Self.next(stage, request)
        case nil:
            // The sign-in does not wait for a code: the answer names the proof that the sign-in waits for.
            return Self.next(try await self.passwords.stage(request: request.id), request)
        }
    }

    func signedIn(by method: String) {
        if let way = self.ways.counted(method) { self.metrics.count(.signIns, way) }
    }

    /// Returns the name of a proof in the log's code for a refusal.
    private static func word(of shown: ShownProof?) -> String {
        if case .code? = shown { "code" } else { "password" }
    }

    private static func refusal(of request: DirectRequest, _ reason: String, setting: String?) -> ProviderRefusal {
        ProviderRefusal(
            OAuthError(.insufficientAuthorization, "More has to be shown.", detail: reason), client: request.client.id,
            setting: setting)
    }

    /// Returns the proofs that a stage needs.
    private static func next(_ stage: PasswordSignIns.Stage, _ request: DirectRequest) -> DirectStep {
        switch stage {
        case .done: .done
        case .secondFactor: .needs(["otp"], [:])
        case .newPassword: .web("the password was for once: a new one is chosen on the page")
        case .password: Self.first(of: request)
        }
    }

    /// Returns the proofs that the person can show at the beginning.
    private static func first(of request: DirectRequest) -> DirectStep {
        let known = SignInMethods.directWords.filter { request.methods.containsBytes(of: $0) }
        return known.isEmpty ? .web("people sign in to it in ways that need a browser") : .needs(known, [:])
    }

    /// Asks a phone.
    ///
    /// The app shows the code, or the code's letters. The app gets no link, because a sign-in that begins by a link
    /// ends in the browser that the phone opens.
    private func ask(_ request: DirectRequest, _ refuse: (ProviderRefusal) -> Void) async throws -> DirectStep {
        let view = try await self.phones.begin(
            reference: request.id, browser: request.browser.cookieValue,
            requester: SignInRequester(
                client: request.client.id, service: request.client.name, origin: request.client.origin,
                address: request.place.address, browser: request.place.browser), source: request.place.source)
        guard let codes = view.codes else { return Self.step(after: view.state, request, refuse) }
        return .needs(
            [PhoneSignIn.word],
            [
                "phone_qr": .string(codes.qrContent), "phone_code": .string(codes.typedCode),
                "expires_in": .integer((codes.expiresAt - self.time.now()).components.seconds),
                "interval": Self.interval,
            ])
    }

    /// Checks the answer of a phone.
    private func look(_ request: DirectRequest, _ refuse: (ProviderRefusal) -> Void) async throws -> DirectStep {
        let state: SignInState
        do {
            state = try await self.phones.state(reference: request.id, browser: request.browser.cookieValue)
        } catch let error as CeremonyError where error.code == .notFound {
            refuse(Self.refusal(of: request, "no phone was asked: phone=start comes first", setting: nil))
            return Self.first(of: request)
        }
        return Self.step(after: state, request, refuse)
    }

    private static func step(
        after state: SignInState, _ request: DirectRequest, _ refuse: (ProviderRefusal) -> Void
    ) -> DirectStep {
        switch state {
        case .approved, .completed: return .done
        case .denied: return .denied
        case .waiting, .claimed, .approvedOnDevice: return .needs([PhoneSignIn.word], ["interval": Self.interval])
        case .expired, .failed:
            refuse(
                Self.refusal(
                    of: request, "the phone's time was over, or its answer was refused: it can be asked again",
                    setting: nil))
            return Self.first(of: request)
        }
    }
}

extension SignInWays {
    /// Returns the sign-ins without a browser by these ways.
    package func direct(
        _ passwords: PasswordAccounts, _ ceremonies: CeremonyEngine, metrics: ServerMetrics, time: TimeSource
    ) -> any DirectSignIn {
        DirectSignIns(
            passwords: passwords.signIns, phones: ceremonies.signIns, ways: self, metrics: metrics, time: time)
    }
}
