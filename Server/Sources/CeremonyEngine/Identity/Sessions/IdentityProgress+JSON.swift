import Ceremony
import PersonalInformation
import Records
import UAF
import _Primitives

extension IdentityProgress {
    /// The stored form of the document.
    var stored: [UInt8] {
        var object: JSONObject = [
            "purpose": .string(self.session.purpose.rawValue), "state": .object(self.session.state.json),
            "deadline": .integer(self.session.deadline.milliseconds),
            "hardEnd": .integer(self.session.hardEnd.milliseconds),
        ]
        object["role"] = self.role.map { .object(["id": .string($0.id), "name": .string($0.name)]) }
        object["factors"] = self.factors.map { .array($0.names.map { .array($0.map { .string($0) }) }) }
        if !self.confirmed.isEmpty {
            var confirmed: JSONObject = [:]
            for attribute in PersonalAttribute.allCases {
                switch self.confirmed[attribute] {
                case .alias(let id)?: confirmed[attribute.rawValue] = .object(["alias": .string(id)])
                case .value(let text)?: confirmed[attribute.rawValue] = .object(["value": .string(text)])
                case nil: break
                }
            }
            object["confirmed"] = .object(confirmed)
        }
        if !self.salts.isEmpty {
            var salts: JSONObject = [:]
            for attribute in PersonalAttribute.allCases {
                salts[attribute.rawValue] = self.salts[attribute].map { .string($0.base64URL) }
            }
            object["salts"] = .object(salts)
        }
        if !self.document.isEmpty { object["document"] = .string(Base64URL.encode(self.document)) }
        object["inApp"] = self.inApp.map { .object($0.json) }
        object["invitation"] = self.invitation.map { .string($0.id) }
        object["invitationToken"] = self.invitation.map { .string(Base64URL.encode($0.tokenDigest)) }
        object["agreement"] = self.agreement.map { .string($0) }
        object["replaces"] = self.replaces.map { .string($0.base64URL) }
        object["evaluation"] = self.evaluation.map { .string(Base64URL.encode($0)) }
        object["taking"] = self.taking.map {
            .object([
                "request": .string(Base64URL.encode($0.request)),
                "authenticatedAt": .integer($0.authenticatedAt.milliseconds),
            ])
        }
        if !self.required.isEmpty {
            object["required"] = .array(
                PersonalAttribute.allCases.filter(self.required.contains).map { .string($0.rawValue) })
        }
        if !self.asked.isEmpty { object["asked"] = self.asked.json }
        if self.newPinEvaluations > 0 { object["newPinEvaluations"] = .integer(Int64(self.newPinEvaluations)) }
        return JSON.object(object).serialized
    }

    /// Reads the form that ``stored`` writes. Throws ``StoreError/Code/corrupt`` for anything else.
    init(stored bytes: [UInt8]) throws {
        do throws(any Error) {
            guard case .object(let object) = try JSON(parsing: bytes) else {
                throw JSONError(.wrongType, "not an object")
            }
            guard let purpose = IdentityPurpose(exactly: try object.requiredString("purpose")) else {
                throw JSONError(.wrongType, "purpose")
            }
            self.init(
                session: IdentitySession(
                    purpose: purpose, state: try IdentityState(json: object.requiredObject("state")),
                    deadline: Timestamp(milliseconds: try object.requiredInteger("deadline")),
                    hardEnd: Timestamp(milliseconds: try object.requiredInteger("hardEnd"))))
            self.role = try object.object("role").map {
                SessionDocument.Role(id: try $0.requiredString("id"), name: try $0.requiredString("name"))
            }
            self.factors = try object.array("factors").map { alternatives in
                try AuthenticatorMatrix(
                    names: alternatives.map { names in
                        guard case .array(let names) = names else { throw JSONError(.wrongType, "factors") }
                        return try names.map { name in
                            guard case .string(let name) = name else { throw JSONError(.wrongType, "factors") }
                            return name
                        }
                    })
            }
            for (name, value) in try object.object("confirmed")?.members ?? [] {
                guard let attribute = PersonalAttribute(exactly: name), case .object(let answer) = value else {
                    throw JSONError(.wrongType, "confirmed")
                }
                self.confirmed[attribute] =
                    if let id = try answer.string("alias") { .alias(id: id) } else {
                        .value(try answer.requiredString("value"))
                    }
            }
            for (name, value) in try object.object("salts")?.members ?? [] {
                guard let attribute = PersonalAttribute(exactly: name), case .string(let text) = value,
                    let salt = SuppliedValueSalt(base64URL: text)
                else { throw JSONError(.wrongType, "salts") }
                self.salts[attribute] = salt
            }
            self.document = try object.string("document").flatMap { Base64URL.decode($0) } ?? []
            self.inApp = try object.object("inApp").map { try InAppWish(json: $0) }
            self.invitation = try object.string("invitation").map { id in
                // A session from before the digest cannot merge an invitation.
                ProvenInvitation(
                    id: id, tokenDigest: try object.string("invitationToken").flatMap { Base64URL.decode($0) } ?? [])
            }
            self.agreement = try object.string("agreement")
            self.replaces = try object.string("replaces").map { try KeyID(base64URL: $0) }
            self.evaluation = try object.string("evaluation").flatMap { Base64URL.decode($0) }
            self.taking = try object.object("taking").map { taking in
                guard let request = Base64URL.decode(try taking.requiredString("request")) else {
                    throw JSONError(.wrongType, "taking")
                }
                return Taking(
                    request: request,
                    authenticatedAt: Timestamp(milliseconds: try taking.requiredInteger("authenticatedAt")))
            }
            self.required = Set(
                try (object.strings("required") ?? []).map { name in
                    guard let attribute = PersonalAttribute(exactly: name) else {
                        throw JSONError(.wrongType, "required")
                    }
                    return attribute
                })
            self.asked = try AskedRequests(json: object.array("asked") ?? [])
            self.newPinEvaluations = try object.integer("newPinEvaluations", as: Int.self) ?? 0
        } catch {
            throw StoreError(.corrupt, "the document of a session")
        }
    }
}

extension InAppWish {
    fileprivate var json: JSONObject {
        var object: JSONObject = [
            "redirectURI": .string(self.redirectURI), "scope": .string(self.scope),
            "codeChallenge": .string(self.codeChallenge),
        ]
        object["state"] = self.state.map { .string($0) }
        object["nonce"] = self.nonce.map { .string($0) }
        return object
    }

    fileprivate init(json object: JSONObject) throws(JSONError) {
        self.init(
            redirectURI: try object.requiredString("redirectURI"), scope: try object.requiredString("scope"),
            state: try object.string("state"), nonce: try object.string("nonce"),
            codeChallenge: try object.requiredString("codeChallenge"))
    }
}

// MARK: - States

extension IdentityState {
    fileprivate var json: JSONObject {
        switch self {
        case .created: ["is": .string("created")]
        case .started: ["is": .string("started")]
        case .correcting(let failures): ["is": .string("correcting"), "failures": .integer(Int64(failures))]
        case .prepared: ["is": .string("prepared")]
        case .lockedTemporarily(let until): ["is": .string("locked"), "until": .integer(until.milliseconds)]
        case .authenticated: ["is": .string("authenticated")]
        case .codeIssued: ["is": .string("codeIssued")]
        case .granted(let refusedPins): ["is": .string("granted"), "refusedPins": .integer(Int64(refusedPins))]
        case .done: ["is": .string("done")]
        case .aborted: ["is": .string("aborted")]
        case .expired: ["is": .string("expired")]
        case .superseded: ["is": .string("superseded")]
        case .failed(let reason): Self.json(of: reason)
        }
    }

    private static func json(of reason: IdentityRefusal) -> JSONObject {
        var object: JSONObject = ["is": .string("failed"), "reason": .string(IdentityProblem(reason).code.rawValue)]
        if case .lockedOut(let until?) = reason { object["until"] = .integer(until.milliseconds) }
        return object
    }

    fileprivate init(json object: JSONObject) throws(JSONError) {
        let name = try object.requiredString("is")
        switch ExactText(name) {
        case "created": self = .created
        case "started": self = .started
        case "correcting": self = .correcting(failures: try object.requiredInteger("failures"))
        case "prepared": self = .prepared
        case "locked":
            self = .lockedTemporarily(until: Timestamp(milliseconds: try object.requiredInteger("until")))
        case "authenticated": self = .authenticated
        case "codeIssued": self = .codeIssued
        case "granted": self = .granted(refusedPins: try object.requiredInteger("refusedPins"))
        case "done": self = .done
        case "aborted": self = .aborted
        case "expired": self = .expired
        case "superseded": self = .superseded
        case "failed": self = .failed(try Self.reason(object))
        default: throw JSONError(.wrongType, "is")
        }
    }

    /// Reads the reason of a failure with which the state machine ends.
    private static func reason(_ object: JSONObject) throws(JSONError) -> IdentityRefusal {
        let until = try object.integer("until", as: Int64.self)
        switch ExactText(try object.requiredString("reason")) {
        case "lockedOut": return .lockedOut(until: until.map { Timestamp(milliseconds: $0) })
        case "activationDisabled": return .activationDisabled
        case "correctionLimitExceeded": return .correctionLimitExceeded
        case "pinRefused": return .pinRefused
        case "factorAlreadyEnrolled": return .factorAlreadyEnrolled
        case "mergeConflict": return .mergeConflict
        case "sessionAborted": return .sessionAborted
        default: throw JSONError(.wrongType, "reason")
        }
    }
}
