import Ceremony
import Foundation
import PersonalInformation
import _Primitives

/// The functions that authenticate a person with an identity on this device, in four steps: start, prepare, sign,
/// finish. ``AuthenticationUserInformation/sign(factor:)`` collects the signatures.
///
/// Each function has an asynchronous form and a blocking form (`…Synchronous`). Never call the blocking form on the
/// main thread or in a task. Both forms do the same and throw the same errors: ``CountersignError`` and nothing else.
/// Each may throw `notInitialized`, `notPersonalized`, the errors of the network and the server, and
/// ``CountersignLockoutError`` if the activation is locked out.
public struct Authenticator: Sendable {
    let life: SDKLife

    // MARK: Starting

    /// Tells the server that this device takes part in the authentication, and returns the service's request. From this
    /// call on, a process that began elsewhere belongs to this device.
    ///
    /// Throws ``CountersignError``: `codeCameByLink`, `wrongProcess` if the server's process has another purpose than
    /// the process that was begun in this app, `sessionExpired`, `sessionConsumed`, `sessionSuperseded`,
    /// `activationDisabled`, `serviceInactive`, `membershipRequired`, `invitationRequired`, `noRole`;
    /// ``CountersignSecurityInsufficientError``.
    ///
    /// After `connectionError` and `timeout`, call the function again within a minute, with the same data or with the
    /// data read again from the same code. If the server has already given the session to this device, the process
    /// continues. In this case a call after that minute ends with `sessionConsumed`: the person then needs a new code.
    public func startAuthentication(data: AuthenticationInitializationData) async throws -> AuthenticateRequest {
        try await self.life.running { core in
            try await core.inTurn(data.session) {
                let (claimed, document) = try await IdentitySessions(core: core).start(
                    data.session, claim: data.claim, at: data.idmIdentifier, replacing: data.replaces)
                do {
                    return try self.request(document, claimed, data, core)
                } catch {
                    // The app has no object with which it could give up the session that this device has claimed, and a
                    // browser waits for the session.
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
        // A process that a person began in this app ends with the intended purpose, or not at all.
        if let purpose = data.purpose, purpose != document.purpose {
            throw CountersignError(.wrongProcess, "a session for something else")
        }
        // If a code that was made to be scanned arrives in a link, the waiting browser belongs to the sender of the
        // link.
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

    /// Does the same as ``startAuthentication(data:)-(AuthenticationInitializationData)``, but blocks.
    public func startAuthenticationSynchronous(data: AuthenticationInitializationData) throws -> AuthenticateRequest {
        try Blocking.wait { try await self.startAuthentication(data: data) }
    }

    /// Starts the authentication that merges an invitation's account into the person's own account. Throws the errors
    /// of ``startAuthentication(data:)-(AuthenticationInitializationData)``.
    public func startAuthentication(data: AuthenticationInitializationDataWithSession) async throws
        -> AuthenticateRequest
    { try await self.startAuthentication(data: data.data) }

    /// Does the same as ``startAuthentication(data:)-(AuthenticationInitializationDataWithSession)``, but blocks.
    public func startAuthenticationSynchronous(data: AuthenticationInitializationDataWithSession) throws
        -> AuthenticateRequest
    { try self.startAuthenticationSynchronous(data: data.data) }

    // MARK: Preparing

    /// Sends the chosen role and the person's answers to the attributes, and returns the content to be signed, or the
    /// errors of the answers. The content is compared with the content that the person saw and answered: other content
    /// ends with `malformedData`, and cannot be signed.
    ///
    /// With `failure`, the attributes of the same request state their errors. Throws ``CountersignError``:
    /// `roleNotSelected`, `correctionLimitExceeded` after too many failures, `sessionExpired`, `sessionAborted`;
    /// ``CountersignSecurityInsufficientError``.
    ///
    /// After `connectionError` and `timeout`, call the function again within a minute, with the same role and answers:
    /// the function then returns the content that the server has already prepared. A call with other answers, or a
    /// later call, ends with `wrongProcess` if the server is further than the app. In this case begin the
    /// authentication again.
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

    /// Does the same as ``prepareAuthenticationUserInformation(request:)``, but blocks.
    public func prepareAuthenticationUserInformationSynchronous(request: AuthenticateRequest) throws
        -> PrepareAuthenticationUserInformationResult
    { try Blocking.wait { try await self.prepareAuthenticationUserInformation(request: request) } }

    // MARK: Finishing

    /// Signs with the factors, and returns the server's judgement. A wrong factor is not an error but a result:
    /// ``AuthenticationResult/lockout(lockoutInformation:authenticationUserInformation:)``.
    ///
    /// Throws ``CountersignError``: `factorMissing` if nothing was signed since the last attempt, `notDisclosed` if a
    /// service's text was not shown, `wrongProcess` if the server ends the process with another purpose than the
    /// process began with, the errors of fingers and faces, `keyRemovedBySystem`, `pinAlreadyAsked`, `answersOutdated`,
    /// `sessionExpired`, `sessionAborted`; ``CountersignSecurityInsufficientError``. After an error, the signed factors
    /// are kept if they were not sent, no factor of this device has failed, and the process continues. Otherwise sign
    /// again; another combination is possible too.
    ///
    /// After `connectionError` and `timeout`, call the function again within a minute, without signing. If the server
    /// has judged the factors that were sent, the function returns the judgement; otherwise the server judges the
    /// factors now. This repetition comes first even if other factors were signed since; these other factors are then
    /// not used. After that minute the fate of the sent factors cannot be learned. The function throws `factorMissing`
    /// until the factors are signed again. If the new attempt ends with `sessionConsumed`, `wrongProcess` or a lockout,
    /// the server had judged: begin the authentication again.
    ///
    /// If the function is called twice at once for the same object, the second call waits and continues from the state
    /// that the first call has left. After a success the second call ends with `sessionExpired`, after a lockout with
    /// `factorMissing`.
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
                // The question about a PIN is sent before the factors. If the question is lost or refused, the factors
                // are still usable. If a biometric factor failed, the factors of another combination would be factors
                // that no combination requests.
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

    /// Returns the result of the server's judgement.
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

    /// Does the same as ``finishAuthentication(userInfo:)``, but blocks.
    public func finishAuthenticationSynchronous(userInfo: AuthenticationUserInformation) throws -> AuthenticationResult
    {
        try Blocking.wait { try await self.finishAuthentication(userInfo: userInfo) }
    }

    /// Returns the result for accepted factors, by the purpose of the session.
    private func result(
        _ accepted: AcceptedSession, _ core: IdentityCore, _ session: IdentitySession, _ checked: CheckedSession,
        _ pin: SecretBytes?
    ) throws -> AuthenticationResult {
        let server = session.claimed.server
        let completions = IdentityCompletions(core: core, session: session.claimed, checked: checked)
        // The bounds of the key set were checked when the key set arrived. Without a key set the bounds are the
        // protocol's bounds.
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

    /// Begins an authentication for this app itself, without a code. Pass the result to
    /// ``startAuthentication(data:)-(AuthenticationInitializationData)``; the authentication ends with
    /// ``AuthenticationResult/serviceLogin(_:)``.
    ///
    /// Throws ``CountersignError``: `serviceInactive`, `consentRequired`, `unexpected` if the server does not accept
    /// the request.
    public func fetchInAppAuthenticationInitializationData(_ request: InAppAuthenticationRequest) async throws
        -> AuthenticationInitializationData
    {
        try await self.life.running { core in
            let offer = try await IdentitySessions(core: core).offer(request.message, at: request.idmIdentifier)
            return AuthenticationInitializationData(offer, at: request.idmIdentifier, for: .serviceLogin)
        }
    }

    /// Does the same as ``fetchInAppAuthenticationInitializationData(_:)``, but blocks.
    public func fetchInAppAuthenticationInitializationDataSynchronous(_ request: InAppAuthenticationRequest) throws
        -> AuthenticationInitializationData
    { try Blocking.wait { try await self.fetchInAppAuthenticationInitializationData(request) } }

    /// Fetches the authorization code for the app's back end. The code can be fetched once.
    ///
    /// Throws ``CountersignError``: `sessionConsumed` for a second call, `sessionExpired`, `consentRequired`,
    /// `activationDisabled` if the service, the account or the device is gone or locked by now. After `connectionError`
    /// and `timeout`, call the function again within a minute, with the same result: the server then repeats the code
    /// whose answer was lost.
    public func fetchAuthorizationCode(_ result: ServiceLoginResult) async throws -> AuthorizationCode {
        try await self.life.running { core in
            let session = result.identitySession.claimed
            return try await core.inTurn(session.id) {
                AuthorizationCode(
                    try await IdentitySessions(core: core).code(session, unanswered: result.unanswered))
            }
        }
    }

    /// Does the same as ``fetchAuthorizationCode(_:)``, but blocks.
    public func fetchAuthorizationCodeSynchronous(_ result: ServiceLoginResult) throws -> AuthorizationCode {
        try Blocking.wait { try await self.fetchAuthorizationCode(result) }
    }
}

extension IdentityProblem.Code {
    /// `true` if a refusal ends the process, so that nothing more can be signed in the process.
    var endsTheProcess: Bool {
        switch self {
        case .sessionExpired, .sessionConsumed, .sessionUnknown, .sessionAborted, .sessionSuperseded,
            .activationDisabled, .activationUnknown, .correctionLimitExceeded, .serviceInactive, .mergeConflict,
            // A lockout that was already running ends the process of the refused request, and so do answers whose
            // values no longer exist.
            .lockedOut, .answersOutdated:
            true
        default: false
        }
    }
}

extension CountersignErrorCode {
    /// `true` if a factor of this device is not available, or has refused to sign.
    fileprivate var saysThatAFactorFailed: Bool {
        [
            .biometricCancelled, .biometricInvalidated, .biometricUnavailable, .biometricLockedOut, .factorNotEnrolled,
            .keyRemovedBySystem,
        ].contains(self)
    }
}
