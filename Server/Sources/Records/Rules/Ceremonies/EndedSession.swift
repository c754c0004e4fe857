import UAF
package import _Primitives

extension CeremonyRecord {
    /// Returns the client whose back end is told of the session's end, if a change has ended a session that a back end
    /// dispatched, compared with the ceremony before the change; `nil` for every other change. A request without a
    /// browser has a reference, and its client is told by ``endedReference(before:)``.
    package func clientOfEnd(before: CeremonyRecord) -> String? {
        self.phase == .ended && before.phase != .ended && before.reference == nil ? self.clientID : nil
    }

    /// Returns this ceremony as ended, for a step that ends ceremonies without a word of the phone.
    package func ended(as outcome: Outcome, at moment: Timestamp) -> CeremonyRecord {
        var ended = self
        ended.phase = .ended
        ended.outcome = outcome
        ended.changedAt = moment
        return ended
    }

    /// The members of an ended session that its back end's status shows, before sealing: a JSON object of the members
    /// that have a value. The content itself is not among them.
    package var storedStatus: [UInt8] {
        var object: JSONObject = [
            "kind": .integer(Int64(self.kind.rawValue)), "endedAt": .integer(self.changedAt.milliseconds),
            "authenticators": .array(self.authenticators.map(JSON.string)),
            "methods": .array(self.methods.map(JSON.string)), "assurance": .string(self.assurance),
        ]
        object["outcome"] = self.outcome.map { .integer(Int64($0.rawValue)) }
        object["account"] = self.accountID.map(JSON.string)
        object["channel"] = self.channel.map { .integer(Int64($0.stored)) }
        object["uafStatus"] = self.uafStatusCode.map { .integer(Int64($0)) }
        object["clientError"] = self.clientErrorCode.map { .integer(Int64($0)) }
        object["asmStatus"] = self.asmStatusCode.map { .integer(Int64($0)) }
        object["denial"] = self.denial.map { .integer(Int64($0.rawValue)) }
        object["contentHash"] = self.contentHash.map { .string(Base64URL.encode($0)) }
        object["contentType"] = self.detail.contentType.map(JSON.string)
        return JSON.object(object).serialized
    }

    /// Reads an ended session for the status of its back end. The members that no status shows are empty.
    ///
    /// Throws ``StoreError/Code/corrupt`` for bytes that are no such object.
    package init(storedStatus bytes: [UInt8], id: String, client: String) throws(StoreError) {
        do {
            guard case .object(let object) = try JSON(parsing: bytes) else {
                throw StoreError(.corrupt, "how a session has ended")
            }
            let endedAt = Timestamp(milliseconds: try object.requiredInteger("endedAt"))
            self.init(
                id: id, kind: try Kind(stored: object.requiredInteger("kind"), "an unknown kind"), clientID: client,
                accountID: try object.string("account"), createdAt: endedAt, expiresAt: endedAt,
                detail: CeremonyDetail(contentType: try object.string("contentType")))
            self.phase = .ended
            self.outcome = try object.integer("outcome", as: Int.self).map {
                try Outcome(stored: $0, "an unknown outcome")
            }
            self.channel = try object.integer("channel", as: Int.self).map { try DispatchChannel(stored: $0) }
            self.uafStatusCode = try object.integer("uafStatus", as: Int.self)
            self.clientErrorCode = try object.integer("clientError", as: Int.self)
            self.asmStatusCode = try object.integer("asmStatus", as: Int.self)
            self.denial = try object.integer("denial", as: Int.self).map {
                try Denial(stored: $0, "an unknown denial")
            }
            self.authenticators = try object.strings("authenticators") ?? []
            self.methods = try object.strings("methods") ?? []
            self.assurance = try object.string("assurance") ?? ""
            self.contentHash = try object.string("contentHash").flatMap { Base64URL.decode($0) }
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.corrupt, "how a session has ended")
        }
    }
}
