import Ceremony
import Foundation
import JOSE
import Store
import UAF
import UAFRelyingParty
import _Primitives

/// What a client says about itself beside its message.
struct ClientContext: Sendable {
    let deviceName: String?
    let asmStatusCode: Int?
    let clientErrorCode: Int?
    /// The secret by which the phone will prove later that it is the device of this enrolment.
    let deviceSecret: String?
    /// What an enrolment is to take the place of.
    let replacement: ReplacementClaim?
    /// What an app calls itself that has found that the list does not have it (``shown(facet:)``).
    let refusedFacet: String?

    /// Throws `badRequest` for members of the wrong type.
    init(_ object: JSONObject?, _ limits: Limits) throws {
        let object = object ?? [:]
        do {
            self.deviceSecret = try object.string("deviceSecret").map { try ReplacementClaim.secret($0) }
            self.replacement = try object.object("replaces").map { try ReplacementClaim($0, limits) }
            self.deviceName = try object.string("deviceName")
            self.asmStatusCode = try object.integer("asmStatusCode")
            self.clientErrorCode = try object.integer("clientErrorCode")
            let facet = try object.string("facetId")
            self.refusedFacet =
                self.clientErrorCode == ErrorCode.untrustedFacetID.rawValue
                ? facet.map(Self.shown(facet:)) : nil
        } catch {
            throw Answered(.badRequest, "the context has a member of another type or form")
        }
    }

    /// A facet that somebody has sent, as log and trail keep it: one line, of so many characters at most.
    static func shown(facet: String) -> String {
        DisplayText.line(facet, maximumLength: Limits.Fixed.refusedFacetCharacters)
    }

    /// Whether the person said no, as opposed to something going wrong.
    var isDenial: Bool { self.clientErrorCode == ErrorCode.userCancelled.rawValue }
}

/// An answer that is decided: on its way out of the verification.
struct Answered: Error {
    let statusCode: UAFStatusCode
    /// For the log, not for the phone: the rule that refused and why, without a value that was sent.
    let reason: String
    /// What the trail keeps about it.
    let audit: AuditEvent.Kind
    /// A further message for the client, such as to delete keys that nobody knows.
    var newRequest: DeregistrationRequest?
    /// The app that may not answer, where that was the reason (``ClientContext/shown(facet:)``).
    var refusedFacet: String?
    /// Whether the ceremony stays as it is: it is another answer's.
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

    /// Of two answers at once, the one that was not the first.
    static var notTheFirst: Self {
        var answered = Self(.invalidRequest, "another answer was first")
        answered.leavesCeremony = true
        return answered
    }
}

/// What holds for the answers to either operation.
struct AnswerChecks: CeremonyPart {
    let environment: CeremonyEnvironment
    let budgets: Budgets
    let trail: any AuditStore

    /// Counts an answer of `source` before it is judged, and gives back what was no refusal: of many at once no more
    /// are refused than there are left. `judge` is told whether the source is past its budget; its refusal is not told
    /// then.
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

    /// Tells the operator which app is not in the list, once in ``Limits/pauseOfReports`` for each source: whoever sends
    /// names has chosen them, and keeps nobody else's from being told. Says whether it was told.
    @discardableResult
    func note(refusedFacet: String?, from source: String?) -> Bool {
        guard let refusedFacet, self.budgets.facetNotes.spend(source ?? "", at: self.time.now()) == nil else {
            return false
        }
        self.configuration.facetRefused(refusedFacet)
        return true
    }

    /// As ``note(refusedFacet:from:)``, for an answer that no ceremony stands behind, whose end would be in the trail: what
    /// is told is there too, with the code, as long as there are not too many in an hour.
    func keep(refusedFacet: String?, code: Int?, from source: String?, at now: Timestamp) async throws {
        guard let refusedFacet, self.note(refusedFacet: refusedFacet, from: source),
            self.budgets.facetEntries.spend("", at: now) == nil
        else { return }
        let detail = [code.map(String.init), refusedFacet].compactMap(\.self).joined(separator: " ")
        try await self.trail.appendAudit(AuditEvent(.failed, at: now, detail: detail))
    }

    /// Refuses what would have keys looked up only to be refused: more of them than any alternative of a policy needs,
    /// and one of them twice, with the code `twice`.
    func checkNames(_ keys: [CredentialID], twice: UAFStatusCode) throws {
        guard keys.count <= self.rules.value.mostKeys else {
            throw Answered(.unacceptableAuthenticator, "more keys than any policy asks for")
        }
        guard keys.count < 2 || Set(keys).count == keys.count else { throw Answered(twice, "a key is there twice") }
    }

    /// Opens the state that a response brings back. Refuses what this server did not seal, and what comes too late.
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

    /// Whether a ceremony still takes an answer. Throws 1491 where it was answered, 1408 where it is too late.
    func checkAnswerable(_ ceremony: CeremonyRecord?, at now: Timestamp) throws -> CeremonyRecord {
        guard let ceremony, ceremony.phase == .claimed else {
            throw Answered(.invalidRequest, "nothing waits for this answer: it has ended or was answered before")
        }
        guard now < ceremony.expiresAt else { throw Answered(.requestTimeout, "its time was over") }
        return ceremony
    }

    /// The policy by which a request was made, for its answer. Throws 1491 where it is not known any more: nobody can
    /// say then what the answer should have met.
    func policy(ofRequest name: String?, for operation: UAF.Operation) throws -> Policy {
        do { return try self.rules.value.policy(named: name, for: operation) } catch {
            throw Answered(.invalidRequest, "the policy of the request is not known any more")
        }
    }
}

extension ServerResponse {
    /// The body of a refusal.
    init(_ answered: Answered) {
        self.init(answered.statusCode)
        self.newUAFRequest = answered.newRequest.map { String(decoding: $0.serialized, as: UTF8.self) }
    }

    /// A body of a status code alone, with its name as description.
    init(_ statusCode: UAFStatusCode) {
        self.init(statusCode: statusCode, description: statusCode == .ok ? nil : statusCode.description)
    }
}

extension DeviceIdentity {
    /// The keys that a device has told.
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

extension JWK {
    /// The public key of an uncompressed point of P-256; `nil` where it is none.
    init?(point: [UInt8]) {
        guard point.count == 65, point[0] == 4,
            let key = try? JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil))
        else { return nil }
        self = key
    }
}
