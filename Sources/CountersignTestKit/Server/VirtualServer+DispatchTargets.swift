import Ceremony
public import Countersign
import Crypto
import Foundation
import JOSE
import UAF
public import _Primitives

/// A device of a ``VirtualServer`` as a target of dispatches.
public struct VirtualDispatchTarget: Sendable {
    /// The server's identifier of the device.
    public let id: String
    /// The person whose account the device has.
    public let username: Username
    /// The device's name for itself.
    public var name: String
    /// The dispatcher that reaches the device; `nil` if the device named none.
    public var dispatcher: String?
    /// The push address; `nil` if the device named none.
    public var address: String?
    /// `true` if the server may push to the device.
    public var isPushEnabled: Bool
    /// The thumbprints of the device's signing key and encryption key.
    public let keyNames: [String]
}

/// The devices that a ``VirtualServer`` knows, and their dispatch targets.
struct VirtualDevices: Sendable {
    /// The keys that a person's device has announced.
    struct Keys: Sendable {
        let signing: JWK
        let encryption: JWK
    }

    let dispatchers: Set<String>
    let now: @Sendable () -> Timestamp
    var keys: [Username: Keys] = [:]
    var targets: [Username: VirtualDispatchTarget] = [:]
    var takenNames: [Username: Set<String>] = [:]
    var usedProofs: Set<String> = []
    var count = 0
}

extension VirtualServer {
    /// Begins to know the devices of later registrations and authentications: the server names their keys in its
    /// answers, accepts their proofs, and keeps their dispatch targets.
    ///
    /// - Parameters:
    ///   - dispatchers: The names of the server's dispatchers.
    ///   - now: The server's clock, by which it judges proofs.
    public func serveDevices(
        dispatchers: Set<String> = ["firebase-cloud-messaging"], now: @escaping @Sendable () -> Timestamp
    ) {
        self.devices = VirtualDevices(dispatchers: dispatchers, now: now)
    }

    /// Returns the dispatch target of a person's device; `nil` without a target.
    public func dispatchTarget(of username: Username) -> VirtualDispatchTarget? { self.devices?.targets[username] }

    /// Changes the dispatch target of a person's device, or ends the target with `nil`.
    public func changeDispatchTarget(
        of username: Username, _ change: @Sendable (VirtualDispatchTarget) -> VirtualDispatchTarget?
    ) {
        let changed = self.dispatchTarget(of: username).flatMap(change)
        self.devices?.targets[username] = changed
    }

    /// Gives a name to another device of a person, so that no further device can have the name.
    public func take(name: String, of username: Username) {
        self.devices?.takenNames[username, default: []].insert(name)
    }

    /// Forgets the keys of a person's device.
    public func forgetDeviceKeys(of username: Username) { self.devices?.keys[username] = nil }

    /// Keeps the keys that a person's device has announced. Returns the name of the signing key.
    func know(_ told: DeviceKeyAnnouncement, of username: Username) -> String? {
        guard self.devices != nil, let signing = try? Self.jwk(told.signingKey, use: "sig", algorithm: "ES256"),
            let encryption = try? Self.jwk(told.encryptionKey, use: "enc", algorithm: "ECDH-ES")
        else { return nil }
        self.devices?.keys[username] = VirtualDevices.Keys(signing: signing, encryption: encryption)
        return signing.keyID
    }

    private static func jwk(_ point: [UInt8], use: String, algorithm: String) throws -> JWK {
        var key = try JWK(
            .p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil), use: use, algorithm: algorithm)
        key.keyID = key.thumbprint
        return key
    }

    /// Returns the person whose device has proved a request; `nil` without a valid proof that was not used before.
    func prover(of request: TransportRequest) -> Username? {
        guard let devices = self.devices,
            let proof = request.headers.first(where: { $0.name == "Device-Proof" })?.value,
            let name = try? DeviceProof.token(of: proof).header.keyID,
            let (username, keys) = devices.keys.first(where: { $0.value.signing.keyID == name }),
            let verified = try? DeviceProof(
                verifying: proof,
                of: DeviceProof.Request(
                    audience: self.baseURL.absoluteString, method: request.method, target: request.url.absoluteString,
                    body: request.body), with: keys.signing, at: devices.now()),
            self.devices?.usedProofs.insert(verified.identifier).inserted ?? false
        else { return nil }
        return username
    }

    /// Answers a request about a dispatch target; `nil` for every other request.
    func answerAboutTarget(_ request: TransportRequest) -> TransportResponse? {
        let path = request.url.path().split(separator: "/")
        guard let devices, path.starts(with: ["token", "dispatch", "targets"]), path.count <= 4 else { return nil }
        guard let username = self.prover(of: request), let keys = devices.keys[username] else {
            return Self.problem(401, "not-proven")
        }
        if path.count == 3 { return self.createTarget(request, username, keys) }
        guard var target = devices.targets[username], target.id == path[3] else {
            return Self.problem(404, "not-found")
        }
        switch request.method {
        case "GET": return Self.answer(200, self.json(of: target))
        case "DELETE":
            target.dispatcher = nil
            target.address = nil
            self.devices?.targets[username] = target
            return TransportResponse(status: 204, headers: [], body: [])
        default: break
        }
        guard case .object(let change)? = try? JSON(parsing: request.body) else {
            return Self.problem(400, "malformed")
        }
        if let refusal = self.refusal(of: change, username) { return refusal }
        target.apply(change)
        self.devices?.targets[username] = target
        return TransportResponse(status: 204, headers: [], body: [])
    }

    private func createTarget(_ request: TransportRequest, _ username: Username, _ keys: VirtualDevices.Keys)
        -> TransportResponse
    {
        guard case .object(let body)? = try? JSON(parsing: request.body), let name = try? body.requiredString("name"),
            let signing = try? JWK(publicJSON: try body.requiredObject("signatureKey")),
            let encryption = try? JWK(publicJSON: try body.requiredObject("encryptionKey"))
        else { return Self.problem(400, "malformed") }
        guard signing.thumbprint == keys.signing.keyID, encryption.thumbprint == keys.encryption.keyID else {
            return Self.problem(422, "keys-differ")
        }
        if let refusal = self.refusal(of: body, username) { return refusal }
        let former = self.devices?.targets[username]
        if former == nil { self.devices?.count += 1 }
        var target = VirtualDispatchTarget(
            id: former?.id ?? "device-\(self.devices?.count ?? 0)", username: username, name: name,
            isPushEnabled: true, keyNames: [signing.thumbprint, encryption.thumbprint])
        target.apply(body)
        self.devices?.targets[username] = target
        return Self.answer(201, ["id": .string(target.id)])
    }

    private func refusal(of change: JSONObject, _ username: Username) -> TransportResponse? {
        if let name = try? change.string("name"), self.devices?.takenNames[username]?.contains(name) ?? false {
            return Self.problem(422, "name-taken")
        }
        if let dispatcher = try? change.string("dispatcher"),
            !(self.devices?.dispatchers.contains(dispatcher) ?? false)
        {
            return Self.problem(422, "dispatcher-unknown")
        }
        return nil
    }

    private func json(of target: VirtualDispatchTarget) -> JSONObject {
        let keys = self.credentials.filter { $0.value.username == target.username }.map { key, credential in
            JSON.object(["aaid": .string(credential.aaid.text), "keyID": .string(key.base64URL)])
        }
        var json: JSONObject = [
            "id": .string(target.id), "name": .string(target.name), "push": .bool(target.isPushEnabled),
            "credentials": .array(keys),
        ]
        json["dispatcher"] = target.dispatcher.map { .string($0) }
        json["target"] = target.address.map { .string(Base64URL.encode(Array(SHA256.hash(data: Array($0.utf8))))) }
        return json
    }

    private static func answer(_ status: Int, _ body: JSONObject) -> TransportResponse {
        TransportResponse(
            status: status, headers: [("Content-Type", "application/json")], body: JSON.object(body).serialized)
    }

    private static func problem(_ status: Int, _ name: String) -> TransportResponse {
        TransportResponse(
            status: status, headers: [("Content-Type", "application/problem+json")],
            body: JSON.object(["type": .string("urn:countersign:error:\(name)")]).serialized)
    }
}

extension VirtualDispatchTarget {
    /// Carries out the members of a request.
    fileprivate mutating func apply(_ change: JSONObject) {
        for (name, value) in change.members {
            switch (name, value) {
            case ("name", .string(let text)): self.name = text
            case ("dispatcher", .string(let text)): self.dispatcher = text
            case ("dispatcher", _): self.dispatcher = nil
            case ("target", .string(let text)): self.address = text
            case ("target", _): self.address = nil
            case ("push", .bool(let isEnabled)): self.isPushEnabled = isEnabled
            default: break
            }
        }
    }
}
