import _Primitives

extension CeremonyDetail {
    /// The detail before sealing: a JSON object of the members that have a value.
    package var stored: [UInt8] {
        var object = JSONObject()
        object["service"] = self.service.map { .string($0) }
        object["origin"] = self.origin.map { .string($0) }
        object["address"] = self.address.map { .string($0) }
        object["browser"] = self.browser.map { .string($0) }
        object["browserId"] = self.browserID.map { .string($0) }
        object["contentType"] = self.contentType.map { .string($0) }
        object["content"] = self.content.map { .string(Base64URL.encode($0)) }
        object["deregistration"] = self.deregistration.map { .string($0) }
        object["policy"] = self.policy.map { .string($0) }
        object["client"] = self.client.map { .string($0) }
        object["change"] = self.change.map { .string($0) }
        object["number"] = self.number.map { .string($0) }
        object["channelLinking"] = self.channelLinking.map { .string($0) }
        object["approver"] = self.approver.map { .string($0) }
        object["approval"] = self.approval.map { .string($0) }
        return JSON.object(object).serialized
    }

    /// Reads a stored detail. Throws ``StoreError/Code/corrupt`` if the bytes are no JSON object.
    package init(stored bytes: [UInt8]) throws {
        guard case .object(let object)? = try? JSON(parsing: bytes) else {
            throw StoreError(.corrupt, "a ceremony's detail is no object")
        }
        self.init(
            service: try object.string("service"), origin: try object.string("origin"),
            address: try object.string("address"), browser: try object.string("browser"),
            browserID: try object.string("browserId"), contentType: try object.string("contentType"),
            content: try object.string("content").flatMap { Base64URL.decode($0) },
            deregistration: try object.string("deregistration"), policy: try object.string("policy"),
            client: try object.string("client"), change: try object.string("change"),
            number: try object.string("number"), channelLinking: try object.string("channelLinking"),
            approver: try object.string("approver"), approval: try object.string("approval"))
    }
}
