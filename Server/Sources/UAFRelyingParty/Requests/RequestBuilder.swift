public import UAF
import _Primitives

/// The factors that an operation accepts: alternatives, each a list of factors that are needed together.
///
/// `[[.pin, .devicePossession], [.fingerprint, .devicePossession]]`: PIN or fingerprint, on a known device.
public typealias FactorMatrix = [[AuthenticatorModel.Factor]]

/// The reason that a request cannot be made: a fault of the configuration, or an account without a suitable key.
public struct RequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of faults.
    public enum Code: String, Hashable, Sendable {
        /// The policy has no alternative, or an empty alternative; or a request to delete keys names no key.
        case emptyPolicy
        /// Silent authenticators alone could satisfy an alternative.
        case silentPolicy
        /// No alternative remains whose authenticators can show the transaction. For unknown people, the server offers
        /// no transaction that has only pictures.
        case noTransactionDisplay
        /// The standard does not allow the text to be confirmed.
        case transactionText
        /// The picture to be confirmed is no complete PNG file with the named characteristics.
        case transactionPicture
        /// A model has no metadata, or is the model for ceremonies of personalised identities alone.
        case unknownModel
        /// The account has no device with the keys of any alternative.
        case noSuitableCredential
        /// The username, appID or server data exceeds the limits of §1.
        case outOfRange
        /// A criterion combines members that exclude each other (§2.2).
        case criteriaCombination
        /// A criterion names keys, although the policy is for everybody.
        case namedKeys
        /// No known model satisfies a criterion.
        case unmetCriterion
    }

    /// The kind of the fault.
    public let code: Code

    public var description: String { "RequestError.\(self.code.rawValue)" }
}

/// Makes the requests of a server (§8.1, §8.3, §8.5).
public struct RequestBuilder: Sendable {
    /// The models that policies may name.
    public let metadata: MetadataCatalog
    /// The AppID of all requests; if empty, the client uses its facetID.
    public let appID: String
    /// The deviations from the standard. Only section 14 matters here: the contents that may be confirmed.
    public let lenientReadings: LenientReadings

    /// Makes requests for one application.
    public init(metadata: MetadataCatalog, appID: String, lenientReadings: LenientReadings = LenientReadings()) {
        self.metadata = metadata
        self.appID = appID
        self.lenientReadings = lenientReadings
    }

    /// Makes a request for new keys. `existing` are the account's keys: an authenticator that holds such a key does not
    /// take part. A revoked model does not take part either.
    public func registrationRequest(
        challenge: Challenge, username: String, factors: FactorMatrix, existing: [RegisteredCredential] = [],
        serverData: String?
    ) throws(RequestError) -> RegistrationRequest {
        try self.registrationRequest(
            challenge: challenge, username: username, policy: self.policy(of: factors), existing: existing,
            serverData: serverData)
    }

    /// Makes the same request as ``registrationRequest(challenge:username:factors:existing:serverData:)`` by a policy
    /// for everybody.
    public func registrationRequest(
        challenge: Challenge, username: String, policy general: Policy, existing: [RegisteredCredential] = [],
        serverData: String?
    ) throws(RequestError) -> RegistrationRequest {
        guard (1...VerificationLimits.usernameCharacters).contains(username.unicodeScalars.count) else {
            throw RequestError(code: .outOfRange)
        }
        var policy = general
        policy.disallowed += self.disallowed(existing) + self.disallowedModels
        try self.check(policy)
        return RegistrationRequest(
            header: try self.header(.registration, serverData), challenge: challenge, username: username, policy: policy
        )
    }

    /// Makes a request for signatures by one account's keys, or by any account's keys if `credentials` is `nil`.
    ///
    /// With `credentials`, each device is a separate alternative: keys of two devices never answer together. With a
    /// `transaction`, only the alternatives remain that can show the transaction.
    public func authenticationRequest(
        challenge: Challenge, factors: FactorMatrix, credentials: [RegisteredCredential]?,
        transaction: [Transaction] = [], serverData: String?
    ) throws(RequestError) -> AuthenticationRequest {
        try self.authenticationRequest(
            challenge: challenge, policy: self.policy(of: factors), credentials: credentials, transaction: transaction,
            serverData: serverData)
    }

    /// Makes the same request as ``authenticationRequest(challenge:factors:credentials:transaction:serverData:)`` by a
    /// policy for everybody.
    public func authenticationRequest(
        challenge: Challenge, policy general: Policy, credentials: [RegisteredCredential]?,
        transaction: [Transaction] = [], serverData: String?
    ) throws(RequestError) -> AuthenticationRequest {
        var policy = general
        if let credentials {
            policy = Policy(
                accepted: self.alternatives(general, credentials),
                disallowed: general.disallowed.filter { $0.authenticatorVersion != nil })
            guard !policy.accepted.isEmpty else { throw RequestError(code: .noSuitableCredential) }
        }
        try self.check(policy)
        if !transaction.isEmpty {
            policy.accepted =
                credentials.map { keys in
                    self.alternatives(general, keys.filter { self.mayJoinConfirmation($0, of: transaction) })
                }
                ?? (transaction.allSatisfy { $0.contentType == .imagePNG }
                    // For unknown people, the server does not know what their authenticators show.
                    ? [] : general.accepted.compactMap(self.confirming))
            guard !policy.accepted.isEmpty else { throw RequestError(code: .noTransactionDisplay) }
            try self.check(transaction)
        }
        return AuthenticationRequest(
            header: try self.header(.authentication, serverData), challenge: challenge, transaction: transaction,
            policy: policy)
    }

    /// Makes a message that tells a client to delete keys. The server deletes its own records first, because the
    /// message has no answer.
    public func deregistrationRequest(_ keys: [DeregisterAuthenticator]) throws(RequestError) -> DeregistrationRequest {
        guard !keys.isEmpty else { throw RequestError(code: .emptyPolicy) }
        return DeregistrationRequest(header: try self.header(.deregistration, nil), authenticators: keys)
    }

    /// Returns the policy that accepts these factors, by any of their models.
    public func policy(of factors: FactorMatrix) -> Policy {
        Policy(accepted: factors.map { $0.map { MatchCriteria(aaid: self.models(of: $0)) } })
    }

    /// Refuses an operator's policy by the rules of ``check(_:)`` and by further rules: criteria that violate the rule
    /// for their writers, criteria that name keys, and criteria that no known model satisfies.
    public func checkNamed(_ policy: Policy) throws(RequestError) {
        for criterion in policy.accepted.flatMap({ $0 }) + policy.disallowed {
            do { try criterion.checkCombination() } catch { throw RequestError(code: .criteriaCombination) }
            guard criterion.keyIDs == nil else { throw RequestError(code: .namedKeys) }
        }
        try self.check(policy)
        for criterion in policy.accepted.flatMap({ $0 }) where self.models(meeting: criterion, in: policy).isEmpty {
            throw RequestError(code: .unmetCriterion)
        }
    }

    /// Returns the models that a criterion of a policy accepts, in the order of their names.
    public func models(meeting criterion: MatchCriteria, in policy: Policy) -> [AAID] {
        let matcher = self.matcher(policy)
        return self.infos(meeting: criterion).filter { matcher.allows(PolicyCandidate(info: $0)) }
            .map(\.aaid).sorted { $0.text < $1.text }
    }

    /// Returns `true` if a device with one key of each of these models can satisfy a policy.
    public func canAnswer(_ policy: Policy, with models: [AAID]) -> Bool {
        let matcher = self.matcher(policy)
        let candidates = models.compactMap(self.info).map { PolicyCandidate(info: $0) }.filter(matcher.allows)
        return policy.accepted.contains { criteria in
            !PolicyMatcher(Policy(accepted: [criteria])).selections(among: candidates, limit: 1).isEmpty
        }
    }

    /// Refuses an empty policy, a policy that names models without metadata, and a policy that silent authenticators
    /// alone could satisfy. A silent authenticator signs without any action of a person.
    public func check(_ policy: Policy) throws(RequestError) {
        guard !policy.accepted.isEmpty, policy.accepted.allSatisfy({ !$0.isEmpty }) else {
            throw RequestError(code: .emptyPolicy)
        }
        for alternative in policy.accepted {
            for criterion in alternative {
                guard criterion.aaid?.allSatisfy(self.metadata.servesOperations) ?? true else {
                    throw RequestError(code: .unknownModel)
                }
            }
            guard alternative.contains(where: { !self.infos(meeting: $0).contains(where: \.isSilent) }) else {
                throw RequestError(code: .silentPolicy)
            }
        }
    }

    /// Returns `true` if a transaction is offered to a model (§8.3 step 4): the model can show the transaction, or is
    /// silent and only reports its presence beside a model that confirms.
    private func mayJoinConfirmation(_ aaid: AAID) -> Bool {
        self.metadata.info(aaid).map { !$0.tcDisplay.isEmpty || $0.isSilent } ?? false
    }

    /// Returns `true` if a transaction is offered to a key: the key's model is suitable, and the key shows one of the
    /// contents or is silent.
    private func mayJoinConfirmation(_ key: RegisteredCredential, of transaction: [Transaction]) -> Bool {
        self.mayJoinConfirmation(key.id.aaid)
            && (self.metadata.info(key.id.aaid)?.isSilent == true || transaction.contains(where: key.shows))
    }

    /// Returns an alternative without the models that no transaction is offered to; `nil` if a criterion has no other
    /// model.
    private func confirming(_ alternative: [MatchCriteria]) -> [MatchCriteria]? {
        var criteria: [MatchCriteria] = []
        for criterion in alternative {
            let models = self.infos(meeting: criterion).map(\.aaid)
            let offered = models.filter(self.mayJoinConfirmation)
            guard !offered.isEmpty else { return nil }
            guard offered.count < models.count else {
                criteria.append(criterion)
                continue
            }
            // The criterion keeps the members that may stand beside names (§2.2). The named models already satisfy the
            // other members.
            var named = MatchCriteria(aaid: offered, keyIDs: criterion.keyIDs)
            named.attachmentHint = criterion.attachmentHint
            named.authenticatorVersion = criterion.authenticatorVersion
            named.extensions = criterion.extensions
            criteria.append(named)
        }
        return criteria
    }

    /// Checks the contents (§14). Text is ASCII of at most 200 characters, in all its renderings. A picture has the
    /// characteristics that it claims.
    private func check(_ transaction: [Transaction]) throws(RequestError) {
        for picture in transaction where picture.contentType == .imagePNG {
            guard let claimed = picture.pngCharacteristics,
                let found = try? DisplayPNGCharacteristics(ofPNG: picture.content), claimed.shows(found)
            else { throw RequestError(code: .transactionPicture) }
        }
        guard !self.lenientReadings.section14AnyText else { return }
        for text in transaction where text.contentType == .textPlain {
            guard (1...VerificationLimits.transactionCharacters).contains(text.content.count),
                text.content.allSatisfy({ $0 < 0x80 })
            else {
                throw RequestError(code: .transactionText)
            }
        }
    }

    /// Returns the models that can satisfy a criterion, with any keys and any version.
    private func infos(meeting criterion: MatchCriteria) -> [AuthenticatorInfo] {
        var criterion = criterion
        criterion.keyIDs = nil
        return (criterion.aaid ?? self.metadata.aaids.sorted { $0.text < $1.text }).compactMap(self.info)
            .filter { criterion.matches(PolicyCandidate(info: $0)) }
    }

    /// Returns the known values of a model before a signature. Only an assertion tells the version (§2.2). `nil` also
    /// for a model that no operation can request.
    private func info(_ aaid: AAID) -> AuthenticatorInfo? {
        guard self.metadata.servesOperations(aaid) else { return nil }
        var info = self.metadata.info(aaid)
        info?.authenticatorVersion = nil
        return info
    }

    /// Makes a matcher for the parts of a policy that can be decided before an assertion. The verifier decides about
    /// versions that the policy disallows.
    private func matcher(_ policy: Policy) -> PolicyMatcher {
        var policy = policy
        policy.disallowed.removeAll { $0.authenticatorVersion != nil }
        return PolicyMatcher(policy)
    }

    /// Returns the models of a factor. A finger or a face that the device's passcode can replace proves no more than the
    /// passcode, so a policy accepts such a model where it accepts the passcode, and nowhere else.
    private func models(of factor: AuthenticatorModel.Factor) -> [AAID] {
        AuthenticatorModel.allCases.filter { ($0.allowsPasscode ? .devicePasscode : $0.factor) == factor }.map(\.aaid)
    }

    /// Returns, for each device, the alternatives that its keys can satisfy, each criterion with the keys (§8.3 step
    /// 1).
    ///
    /// Keys, and therefore devices, are in the order of their names. The order of registration is private, and would
    /// distinguish an invented account from a real account.
    private func alternatives(_ policy: Policy, _ credentials: [RegisteredCredential]) -> [[MatchCriteria]] {
        var devices: [(name: String, candidates: [(credential: RegisteredCredential, candidate: PolicyCandidate)])] = []
        let matcher = self.matcher(policy)
        let ordered = credentials.sorted { left, right in
            left.id.aaid == right.id.aaid
                ? left.id.keyID.bytes.lexicographicallyPrecedes(right.id.keyID.bytes)
                : left.id.aaid.text.utf8.lexicographicallyPrecedes(right.id.aaid.text.utf8)
        }
        for credential in ordered {
            guard let info = self.info(credential.id.aaid) else { continue }
            let candidate = PolicyCandidate(info: info, keyIDs: [credential.id.keyID])
            guard matcher.allows(candidate) else { continue }
            if let index = devices.firstIndex(where: { $0.name.hasSameBytes(as: credential.deviceRegistration) }) {
                devices[index].candidates.append((credential, candidate))
            } else {
                devices.append((credential.deviceRegistration, [(credential, candidate)]))
            }
        }
        var alternatives: [[MatchCriteria]] = []
        for criteria in policy.accepted {
            let matcher = PolicyMatcher(Policy(accepted: [criteria]))
            for device in devices
            where !matcher.selections(among: device.candidates.map(\.candidate), limit: 1).isEmpty {
                alternatives.append(
                    criteria.map { criterion in
                        let keys = device.candidates.filter { criterion.matches($0.candidate) }.map(\.credential.id)
                        var named = MatchCriteria(
                            aaid: keys.map(\.aaid).withoutRepetition, keyIDs: keys.map(\.keyID).withoutRepetition)
                        // Only the assertion will show the version.
                        named.authenticatorVersion = criterion.authenticatorVersion
                        return named
                    })
            }
        }
        return alternatives
    }

    /// Returns, for each model, the keys that its authenticator must not hold already (§8.1 step 1).
    private func disallowed(_ existing: [RegisteredCredential]) -> [MatchCriteria] {
        existing.map(\.id.aaid).filter { $0 != ServerPinModel.aaid }.withoutRepetition.map { aaid in
            MatchCriteria(
                aaid: [aaid], keyIDs: existing.filter { $0.id.aaid == aaid }.map(\.id.keyID).withoutRepetition)
        }
    }

    /// The models that are refused by a list or by their status (§8.1 step 1).
    private var disallowedModels: [MatchCriteria] {
        let revoked = self.metadata.aaids.filter { self.metadata.servesOperations($0) && self.metadata.isRevoked($0) }
            .sorted { $0.text < $1.text }
        return revoked.isEmpty ? [] : [MatchCriteria(aaid: revoked)]
    }

    private func header(_ operation: UAF.Operation, _ serverData: String?) throws(RequestError) -> OperationHeader {
        guard self.appID.unicodeScalars.count <= VerificationLimits.appIDCharacters,
            serverData.map({ (1...VerificationLimits.serverDataCharacters).contains($0.unicodeScalars.count) }) ?? true
        else { throw RequestError(code: .outOfRange) }
        return OperationHeader(operation: operation, appID: self.appID, serverData: serverData)
    }
}

extension Array where Element: Hashable {
    /// The elements in their order, each once.
    fileprivate var withoutRepetition: [Element] {
        var seen: Set<Element> = []
        return self.filter { seen.insert($0).inserted }
    }
}
