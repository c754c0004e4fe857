import Ceremony
import Foundation
import PersonalInformation
import _Primitives

/// Authenticates a person with an identity that is on this device, in four steps: start, prepare, sign, finish. The
/// signatures are collected by ``AuthenticationUserInformation/sign(factor:)``.
///
/// Each function has a form that waits asynchronously, and one that blocks (`…Synchronous`): never call that one on the main
/// thread, or in a task. They do the same and throw the same: ``CountersignError``, and nothing else. Each may throw
/// `notInitialized`, `notPersonalized`, the errors of the network and the server, and
/// ``CountersignLockoutError`` where the activation rests.
public struct Authenticator: Sendable {
    let life: SDKLife

    // MARK: Starting

    /// Tells the server that this device takes part, and gets to know who asks for what. What has begun elsewhere is this
    /// device's from here on.
    ///
    /// Throws ``CountersignError``: `codeCameByLink`, `wrongProcess` where the server takes what was begun in this app for
    /// something else, `sessionExpired`, `sessionConsumed`, `sessionSuperseded`, `activationDisabled`,
    /// `serviceInactive`, `membershipRequired`, `invitationRequired`, `noRole`; ``CountersignSecurityInsufficientError``. After
    /// `connectionError` and `timeout` call it again within a minute, with the same data or what the same code is read to again:
    /// where the server has given the code to this device already, it goes on. Later that ends with `sessionConsumed`: have another one shown.
    public func startAuthentication(data: AuthenticationInitializationData) async throws -> AuthenticateRequest {
        try await self.life.running { core in
            try await core.inTurn(data.session) {
                let (claimed, document) = try await IdentitySessions(core: core).start(
                    data.session, claim: data.claim, at: data.idmIdentifier, replacing: data.replaces)
                do {
                    return try self.request(document, claimed, data, core)
                } catch {
                    // The app has nothing by which it could give up what this device has claimed, and a browser waits for it.
                    try? await IdentitySessions(core: core).abort(claimed)
                    throw error
                }
            }
        }
    }

    private func request(
        _ document: RequestDocument, _ claimed: ClaimedSession, _ data: AuthenticationInitializationData,
        _ core: IdentityCore
    ) throws -> AuthenticateRequest {
        // What a person has begun in this app ends as they meant it, or not at all.
        if let purpose = data.purpose, purpose != document.purpose {
            throw CountersignError(.wrongProcess, "a session for something else")
        }
        // Whose browser waits, when a code that was made to be scanned comes in a link? Whoever sent the link.
        if data.isFromLink, document.purpose == .userLogin, !document.isForLinks {
            throw CountersignError(.codeCameByLink)
        }
        let identity = try core.identity(of: data.idmIdentifier)
        guard let today = CalendarDay(Date(core.servers.now(at: data.idmIdentifier)), in: .current) else {
            throw CountersignError(.clockSkew, "a year that the calendar does not have")
        }
        return try AuthenticateRequest(
            document, claimed, isOwnOperation: data.isOwnOperation,
            from: IdentityFactors(core: core).types(of: identity), birthdate: BirthdateValidator(latest: today))
    }

    /// As ``startAuthentication(data:)-(AuthenticationInitializationData)``. It blocks.
    public func startAuthenticationSynchronous(data: AuthenticationInitializationData) throws -> AuthenticateRequest {
        try Blocking.wait { try await self.startAuthentication(data: data) }
    }

    /// Starts the authentication by which an invitation's account goes into the person's own. Throws as
    /// ``startAuthentication(data:)-(AuthenticationInitializationData)`` does.
    public func startAuthentication(data: AuthenticationInitializationDataWithSession) async throws
        -> AuthenticateRequest
    { try await self.startAuthentication(data: data.data) }

    /// As ``startAuthentication(data:)-(AuthenticationInitializationDataWithSession)``. It blocks.
    public func startAuthenticationSynchronous(data: AuthenticationInitializationDataWithSession) throws
        -> AuthenticateRequest
    { try self.startAuthenticationSynchronous(data: data.data) }

    // MARK: Preparing

    /// Sends the role and what the person said to the attributes, and gets what is to be signed. What comes is held against
    /// what was shown and said: nothing else can be signed.
    ///
    /// With `failure` the attributes of the same request say what is wrong. Throws ``CountersignError``: `roleNotSelected`,
    /// `correctionLimitExceeded` after too many failures, `sessionExpired`, `sessionAborted`;
    /// ``CountersignSecurityInsufficientError``. After `connectionError` and `timeout` call it again within a minute, with the
    /// same role and answers: what the server has prepared already is signed. With others, or later, that ends with
    /// `wrongProcess` where the server is further than the app: begin anew.
    public func prepareAuthenticationUserInformation(request: AuthenticateRequest) async throws
        -> PrepareAuthenticationUserInformationResult
    {
        try await self.life.running { core in
            try await core.inTurn(request.identitySession.claimed.id) { try await self.prepare(request, core) }
        }
    }

    private func prepare(_ request: AuthenticateRequest, _ core: IdentityCore) async throws
        -> PrepareAuthenticationUserInformationResult
    {
        guard let role = request.selection,
            let asked = request.document.roles.first(where: { $0.id.hasSameBytes(as: role.id) })
        else { throw CountersignError(.roleNotSelected) }
        let sessions = IdentitySessions(core: core)
        let session = request.identitySession
        let answers = request.info.answers
        let said = SentAnswers(role: role.id, answers: answers)
        switch try await sessions.prepare(session.claimed, said, unanswered: request.unanswered) {
        case .errors(let errors, let deadlines):
            session.move(to: deadlines)
            request.info.report(errors)
            return .failure(request)
        case .prepared(let prepared):
            request.info.report([:])
            let checked = try sessions.check(
                prepared, of: session.claimed, for: request.document, role: (asked.id, asked.name), answers: answers)
            session.move(to: prepared.deadlines)
            let identity = try sessions.identity(of: session.claimed)
            return .success(
                try AuthenticationUserInformation(
                    checked, session, demandingText: !request.isOwnOperation,
                    from: IdentityFactors(core: core).types(of: identity)))
        }
    }

    /// As ``prepareAuthenticationUserInformation(request:)``. It blocks.
    public func prepareAuthenticationUserInformationSynchronous(request: AuthenticateRequest) throws
        -> PrepareAuthenticationUserInformationResult
    { try Blocking.wait { try await self.prepareAuthenticationUserInformation(request: request) } }

    // MARK: Finishing

    /// Has the factors sign, and the server judge. A wrong one is no error but a result:
    /// ``AuthenticationResult/lockout(lockoutInformation:authenticationUserInformation:)``.
    ///
    /// Throws ``CountersignError``: `factorMissing` where nothing was signed since the last attempt, `notDisclosed` where
    /// a service's text was not shown,
    /// `wrongProcess` where the server ends it as something else than was begun,
    /// `biometricCancelled`, `biometricInvalidated`, `sessionExpired`, `sessionAborted`;
    /// ``CountersignSecurityInsufficientError``. What was signed is kept where the factors have not left, no factor of this
    /// device has failed, and the process goes on; otherwise sign again, also by another combination.
    ///
    /// After `connectionError` and `timeout` call it again within a minute, without signing: what the server has judged of the
    /// factors that have left is the result, or it judges them now. That comes first also where other factors were signed since,
    /// which are used for nothing then. Later, nobody says what has become of them: it is `factorMissing` until they are signed
    /// anew, and where that ends with `sessionConsumed`, `wrongProcess` or a lockout, the server had judged: begin anew.
    ///
    /// Of two calls at once for one object the second waits, and goes on with what the first has left: after a success it ends
    /// with `sessionExpired`, after a lockout with `factorMissing`.
    public func finishAuthentication(userInfo: AuthenticationUserInformation) async throws -> AuthenticationResult {
        try await self.life.running { core in
            try await core.inTurn(userInfo.identitySession.claimed.id) { try await self.finish(userInfo, core) }
        }
    }

    private func finish(_ userInfo: AuthenticationUserInformation, _ core: IdentityCore) async throws
        -> AuthenticationResult
    {
        let sessions = IdentitySessions(core: core)
        let session = userInfo.identitySession.claimed
        do {
            if let (answer, sent) = try await sessions.finishAgain(session, userInfo.unanswered) {
                return try self.result(of: answer, to: sent, userInfo, core)
            }
            let (checked, factors, disclosure) = try userInfo.take()
            let finished: (answer: ManagerExchange.Answered<FinishResponse>, sent: SentFactors)
            let begun = userInfo.unanswered.begun
            do {
                finished = try await sessions.finish(
                    session, checked, with: factors, disclosure, unanswered: userInfo.unanswered)
            } catch {
                // The question about a PIN leaves before the factors do: where it is lost or refused, they are still good.
                // Beside a finger that failed, the factors of another combination would be none that anybody asks for.
                if userInfo.unanswered.begun == begun,
                    !CountersignError.translating(error).errorCode.saysThatAFactorFailed
                {
                    userInfo.put(back: factors)
                }
                throw error
            }
            return try self.result(of: finished.answer, to: finished.sent, userInfo, core)
        } catch let error as Refused {
            if error.problem.code.endsTheProcess { userInfo.move(to: nil) }
            throw error
        }
    }

    /// What the server has judged.
    private func result(
        of answer: ManagerExchange.Answered<FinishResponse>, to sent: SentFactors,
        _ userInfo: AuthenticationUserInformation, _ core: IdentityCore
    ) throws -> AuthenticationResult {
        let checked = sent.checked
        switch answer.message {
        case .lockout(let attempt):
            let next = try attempt.next.map { try IdentitySessions(core: core).check($0, after: checked) }
            userInfo.move(to: next)
            return .lockout(
                lockoutInformation: LockoutInformation(attempt.lockout, at: answer.now),
                authenticationUserInformation: userInfo)
        case .accepted(let accepted):
            userInfo.move(to: nil)
            if let until = accepted.continuesUntil { userInfo.identitySession.move(toStepUntil: until) }
            guard accepted.purpose == checked.document.purpose else {
                throw CountersignError(.wrongProcess, "a session for something else")
            }
            return try self.result(accepted, core, userInfo.identitySession, checked, sent.pin)
        }
    }

    /// As ``finishAuthentication(userInfo:)``. It blocks.
    public func finishAuthenticationSynchronous(userInfo: AuthenticationUserInformation) throws -> AuthenticationResult
    {
        try Blocking.wait { try await self.finishAuthentication(userInfo: userInfo) }
    }

    /// What comes after the factors.
    private func result(
        _ accepted: AcceptedSession, _ core: IdentityCore, _ session: IdentitySession, _ checked: CheckedSession,
        _ pin: SecretBytes?
    ) throws -> AuthenticationResult {
        let server = session.claimed.server
        let completions = IdentityCompletions(core: core, session: session.claimed, checked: checked)
        // What the key set says was checked when it came; without one the bounds are those of the protocol.
        let lengths = try core.servers.keptKeys(of: server)?.pinLength ?? 5...32
        return switch accepted.purpose {
        case .userLogin: .userLogin(UserLoginResult(accepted))
        case .serviceLogin: .serviceLogin(ServiceLoginResult(session, accepted))
        case .addFactor: .apiAccessAddFactor(ApiAccessAddFactor(session, completions))
        case .changePin:
            .apiAccessChangePin(
                ApiAccessChangePin(session, completions, PinSpecification(lengths, former: pin)))
        case .newActivation:
            .apiAccessRequestNewActivationData(
                ApiAccessRequestNewActivationData(session, completions, PinSpecification(lengths)))
        case .delete: .apiAccessDelete(ApiAccessDelete(session, completions))
        case .merge: .apiAccessMergeComplete(idmIdentifier: server)
        }
    }

    // MARK: Signing this app in

    /// Begins an authentication for this app itself, without a code. Give the result to
    /// ``startAuthentication(data:)-(AuthenticationInitializationData)``; it ends with ``AuthenticationResult/serviceLogin(_:)``.
    ///
    /// Throws ``CountersignError``: `serviceInactive`, `unexpected` where the server does not take the request.
    public func fetchInAppAuthenticationInitializationData(_ request: InAppAuthenticationRequest) async throws
        -> AuthenticationInitializationData
    {
        try await self.life.running { core in
            let offer = try await IdentitySessions(core: core).offer(request.message, at: request.idmIdentifier)
            return AuthenticationInitializationData(offer, at: request.idmIdentifier, for: .serviceLogin)
        }
    }

    /// As ``fetchInAppAuthenticationInitializationData(_:)``. It blocks.
    public func fetchInAppAuthenticationInitializationDataSynchronous(_ request: InAppAuthenticationRequest) throws
        -> AuthenticationInitializationData
    { try Blocking.wait { try await self.fetchInAppAuthenticationInitializationData(request) } }

    /// Fetches the authorization code for the app's back end: once.
    ///
    /// Throws ``CountersignError``: `sessionConsumed` a second time, `sessionExpired`. After `connectionError` and `timeout` call
    /// it again within a minute, with the same result: the code whose answer was lost is told again.
    public func fetchAuthorizationCode(_ result: ServiceLoginResult) async throws -> AuthorizationCode {
        try await self.life.running { core in
            let session = result.identitySession.claimed
            return try await core.inTurn(session.id) {
                AuthorizationCode(
                    try await IdentitySessions(core: core).code(session, unanswered: result.unanswered))
            }
        }
    }

    /// As ``fetchAuthorizationCode(_:)``. It blocks.
    public func fetchAuthorizationCodeSynchronous(_ result: ServiceLoginResult) throws -> AuthorizationCode {
        try Blocking.wait { try await self.fetchAuthorizationCode(result) }
    }
}

extension IdentityProblem.Code {
    /// Whether a refusal says that the process is over, so that nothing is to be signed in it any more.
    var endsTheProcess: Bool {
        switch self {
        case .sessionExpired, .sessionConsumed, .sessionUnknown, .sessionAborted, .sessionSuperseded,
            .activationDisabled, .activationUnknown, .correctionLimitExceeded, .serviceInactive, .mergeConflict,
            // What comes during a rest is the end of its process, and so are values that are not there any more.
            .lockedOut, .answersOutdated:
            true
        default: false
        }
    }
}

extension CountersignErrorCode {
    /// Whether a factor of this device is not to be had, or has refused to sign.
    fileprivate var saysThatAFactorFailed: Bool {
        [
            .biometricCancelled, .biometricInvalidated, .biometricUnavailable, .biometricLockedOut, .factorNotEnrolled,
            .keyRemovedBySystem,
        ].contains(self)
    }
}
