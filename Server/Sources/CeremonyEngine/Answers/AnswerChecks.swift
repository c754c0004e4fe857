import Ceremony
import Foundation
import JOSE
import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// The information that a client sends about itself beside the UAF message.
struct ClientContext: Sendable {
    let deviceName: String?
    let asmStatusCode: Int?
    let clientErrorCode: Int?
    /// The secret by which the phone later proves to be the device of this enrolment.
    let enrolmentSecret: String?
    /// The earlier keys that the enrolment replaces, with the proof of being their devices.
    let replacement: ReplacementClaim?
    /// The person's denial, signed by the device (``SignedDenial``); not verified.
    let denial: String?
    /// The facet of an app that is missing in the list of trusted facets, as the app itself gives the facet
    /// (``shown(facet:)``).
    let refusedFacet: String?
    /// The evidence about the app; not verified.
    let appEvidence: AppEvidence?

    /// Reads the context. Throws `badRequest` for members of the wrong type.
    init(_ object: JSONObject?, _ limits: Limits) throws {
        let object = object ?? [:]
        do {
            self.enrolmentSecret = try object.string("deviceSecret").map { try ReplacementClaim.secret($0) }
            self.replacement = try object.object("replaces").map { try ReplacementClaim($0, limits) }
            self.deviceName = try object.string("deviceName")
            self.asmStatusCode = try object.integer("asmStatusCode")
            self.clientErrorCode = try object.integer("clientErrorCode")
            self.denial = try object.string("denial")
            self.appEvidence = try object.object(AppEvidence.contextMember).map { try AppEvidence(json: $0) }
            let facet = try object.string("facetId")
            self.refusedFacet =
                self.clientErrorCode == ErrorCode.untrustedFacetID.rawValue
                ? facet.map(Self.shown(facet:)) : nil
        } catch {
            throw Answered(.badRequest, "the context has a member of another type or form")
        }
    }

    /// Returns a facet from a client in the form for log and trail: one line, with a maximum length.
    static func shown(facet: String) -> String {
        DisplayText.line(facet, maximumLength: Limits.Fixed.refusedFacetCharacters)
    }

    /// `true` if the person refused, as opposed to a technical failure.
    var isDenial: Bool { self.clientErrorCode == ErrorCode.userCancelled.rawValue }
}

/// The answer to a message, thrown as soon as the verification has decided.
struct Answered: Error {
    let statusCode: UAFStatusCode
    /// The rule that refused, and the reason. The reason is for the log, not for the phone, and contains no value from
    /// the client.
    let reason: String
    /// The kind of entry that the trail keeps.
    let audit: AuditEvent.Kind
    /// A further message for the client, such as a request to delete unknown keys.
    var newRequest: DeregistrationRequest?
    /// The facet of the app that may not answer; `nil` if the refusal has another reason
    /// (``ClientContext/shown(facet:)``).
    var refusedFacet: String?
    /// `true` if the person has typed another number than the shown number, or one number too many.
    var isNumberWrong = false
    /// The reason against the evidence about the app; `nil` if the refusal has another reason.
    var appRefusal: AppAttestationRefusal?
    /// `true` if the ceremony stays as it is, because the ceremony belongs to another answer.
    var leavesCeremony = false

    init(_ statusCode: UAFStatusCode, _ reason: String, audit: AuditEvent.Kind = .failed) {
        self.statusCode = statusCode
        self.reason = reason
        self.audit = audit
    }

    init(_ refusal: UAFRefusal) {
        self.init(
            refusal.statusCode, "\(refusal.step): \(refusal.reason)",
            audit: refusal.step == .signCounter ? .counterWentBack : .failed)
        self.refusedFacet = refusal.facetID.map { ClientContext.shown(facet: $0.text) }
    }

    init(_ refusal: AppAttestationRefusal) {
        self.init(.unacceptableAttestation, "the evidence about the app: \(refusal.rawValue)", audit: .appRefused)
        self.appRefusal = refusal
    }

    /// The refusal of the second of two simultaneous answers.
    static var notTheFirst: Self {
        var answered = Self(.invalidRequest, "another answer was first")
        answered.leavesCeremony = true
        return answered
    }
}

/// The checks that apply to registration and authentication answers alike.
struct AnswerChecks: CeremonyPart {
    let environment: CeremonyEnvironment
    let budgets: Budgets
    let trail: any AuditStore

    /// Judges an answer of `source` within the budget of refused answers.
    ///
    /// The budget is spent before the judgement and given back unless the answer is refused. Simultaneous answers
    /// therefore cannot be refused more often than the budget allows. `judge` receives `true` if the source is past its
    /// budget; a refusal is then replaced by `tooManyRequests`.
    func judged<Answer>(
        from source: String?, _ statusCode: (Answer) -> UAFStatusCode,
        _ judge: (_ isPastBudget: Bool) async throws -> Answer
    ) async throws -> Answer {
        guard let source else { return try await judge(false) }
        let shortage = self.budgets.refusals.spend(source, at: self.time.now())
        let answer: Answer
        do { answer = try await judge(shortage != nil) } catch {
            if shortage == nil { self.budgets.refusals.refund(source) }
            throw error
        }
        if [.ok, .accepted].contains(statusCode(answer)) {
            if shortage == nil { self.budgets.refusals.refund(source) }
        } else {
            try CeremonyError.throwShortage(shortage)
        }
        return answer
    }

    /// Reports an app outside the list to the operator, once in ``Limits/pauseOfReports`` for each source. Returns
    /// `true` if the operator was told.
    ///
    /// A sender chooses the names in a message. The limit for each source keeps a sender from suppressing other
    /// reports.
    @discardableResult
    func note(refusedFacet: String?, from source: String?) -> Bool {
        guard let refusedFacet, self.budgets.facetNotes.spend(source ?? "", at: self.time.now()) == nil else {
            return false
        }
        self.configuration.facetRefused(refusedFacet)
        return true
    }

    /// Reports a refused app as ``note(refusedFacet:from:)`` does, and adds a reported app to the trail with the code.
    ///
    /// For answers without a ceremony. An answer to a ceremony needs no such entry: the end of the ceremony is in the
    /// trail. The number of entries in an hour is limited.
    func keep(refusedFacet: String?, code: Int?, from source: String?, at now: Timestamp) async throws {
        guard let refusedFacet, self.note(refusedFacet: refusedFacet, from: source),
            self.budgets.facetEntries.spend("", at: now) == nil
        else { return }
        let detail = [code.map(String.init), refusedFacet].compactMap(\.self).joined(separator: " ")
        try await self.trail.appendAudit(AuditEvent(.failed, at: now, detail: detail))
    }

    /// Refuses a list of keys before any key is looked up: more keys than any alternative of a policy needs, or the
    /// same key twice, with the code `twice`.
    func checkNames(_ keys: [CredentialID], twice: UAFStatusCode) throws {
        guard keys.count <= self.rules.value.mostKeys else {
            throw Answered(.unacceptableAuthenticator, "more keys than any policy asks for")
        }
        guard keys.count < 2 || Set(keys).count == keys.count else { throw Answered(twice, "a key is there twice") }
    }

    /// Opens the server data of a response. Refuses missing data, data of another server or for another operation, and
    /// data after the end of its time.
    func openServerData(_ text: String?, operation: UAF.Operation, at now: Timestamp) throws
        -> (data: SealedServerData, origin: ServerDataOrigin)
    {
        guard let text else { throw Answered(.invalidRequest, "the response brings no server data back") }
        let data: SealedServerData
        do { data = try SealedServerData(opening: text, by: self.sealing.openServerData, now: now) } catch {
            throw Answered(error)
        }
        guard data.operation == operation, let origin = ServerDataOrigin(data.policy) else {
            throw Answered(.invalidRequest, "the server data was made for another operation")
        }
        return (data, origin)
    }

    /// Returns the ceremony if the ceremony waits for an answer. Throws 1491 if the ceremony is gone, was not taken up,
    /// was answered before or has ended, and 1408 after the end of its time.
    func checkAnswerable(_ ceremony: CeremonyRecord?, at now: Timestamp) throws -> CeremonyRecord {
        guard let ceremony, ceremony.phase == .claimed else {
            throw Answered(.invalidRequest, "nothing waits for this answer: it has ended or was answered before")
        }
        guard now < ceremony.expiresAt else { throw Answered(.requestTimeout, "its time was over") }
        return ceremony
    }

    /// Returns the policy by which a request was made. Throws 1491 if the policy is no longer known: the conditions for
    /// the answer are then unknown as well.
    func policy(ofRequest name: String?, for operation: UAF.Operation) throws -> Policy {
        do { return try self.rules.value.policy(named: name, for: operation) } catch {
            throw Answered(.invalidRequest, "the policy of the request is not known any more")
        }
    }
}

extension ServerResponse {
    /// Creates the body of a refusal.
    init(_ answered: Answered) {
        self.init(answered.statusCode)
        self.isNumberWrong = answered.isNumberWrong
        self.isAppRefused = answered.appRefusal != nil
        self.newUAFRequest = answered.newRequest.map { String(decoding: $0.serialized, as: UTF8.self) }
    }

    /// Creates a body with a status code alone, and the code's name as description.
    init(_ statusCode: UAFStatusCode) {
        self.init(statusCode: statusCode, description: statusCode == .ok ? nil : statusCode.description)
    }
}

extension DeviceIdentityRecord {
    /// Creates the identity from the keys of a device's announcement; `nil` without an announcement, or with points
    /// that are no keys.
    init?(_ told: DeviceKeyAnnouncement?) {
        guard let told, let signing = JWK(point: told.signingKey), let encryption = JWK(point: told.encryptionKey)
        else {
            return nil
        }
        self.init(
            signing: Key(name: signing.thumbprint, point: told.signingKey),
            encryption: Key(name: encryption.thumbprint, point: told.encryptionKey))
    }
}
