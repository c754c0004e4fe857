import UAF
import UAFClient
import _Primitives

/// Deletes an account's keys of this device: at the server first, and here once the server has. Configure it and execute
/// it once.
///
/// The account goes with its last key that a person answers with, and the device's name with the last account. A person
/// who is not enrolled here is deregistered already: that is a success, and nothing is sent.
///
/// The device asks for itself where the server knows its own keys. Where it does not, the server refuses
/// (``OperationError/Code-swift.struct/notAuthorized``): authenticate, and hand the provider in.
public struct Deregistration: SingleOperation {
    private let core: ClientCore
    fileprivate var username: Username?
    fileprivate var aaid: Aaid?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    private let once = OneShot()

    init(core: ClientCore) { self.core = core }

    /// Deregisters. Where the server refuses or does not answer, everything is still here, and asking again is right: the
    /// server may have deleted its records. To delete here alone, see ``LocalData/deleteAuthenticator(username:aaid:)``.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        guard let record = await self.core.record(named: username) else { return }
        guard record.key.server == self.core.configuration.baseURL else {
            throw OperationError(.userAlreadyRegisteredInAnotherServer, "the account is at another server")
        }
        let keys = self.keys(of: record)
        guard !keys.isEmpty else { return }
        let caller = self.core.caller(self.authorizationProvider, for: record) ?? .anybody
        do {
            try await self.deregisterAtServer(keys, username, caller)
            try await self.core.forget(keys, of: record)
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// What goes: where nothing is left that a person answers with, also what came along with it.
    private func keys(of record: StoredAccount) -> [KeyName] {
        guard let aaid else { return record.keys }
        let chosen = record.keys.filter { $0.aaid.text.hasSameBytes(as: aaid) }
        let left = record.keys.filter { !$0.aaid.text.hasSameBytes(as: aaid) }
        let hasOther = left.contains { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }
        return chosen.isEmpty || hasOther ? chosen : record.keys
    }

    private func deregisterAtServer(_ keys: [KeyName], _ username: Username, _ caller: RequestCaller) async throws {
        let context: JSONObject = [
            "username": .string(username), "mode": .string("key"),
            "keys": .array(
                keys.map { .object(["aaid": .string($0.aaid.text), "keyID": .string($0.keyID.base64URL)]) }),
        ]
        let answer = try await ServerExchange(core: self.core, recording: self.core.newRecording()).request(
            GetUAFRequest(operation: .deregistration, context: context),
            path: self.core.configuration.deregistrationRequestPath, by: caller)
        // The message can only name what was asked for: it confirms, and gives no orders of its own.
        let message = try DeregistrationRequest(parsing: (answer.message.uafRequest ?? "").utf8)
        let isConfirmed = keys.allSatisfy { key in
            message.authenticators.contains { $0.aaid == key.aaid && $0.keyID == key.keyID }
        }
        guard isConfirmed, message.authenticators.count == keys.count else {
            throw OperationError.fido(.protocolError, "the server's message is about other keys")
        }
    }
}

extension OperationBuilder where Operation == Deregistration {
    /// Whose keys. Needed.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// The keys of that authenticator alone; without it, or with `nil`, all of the person's keys on this device.
    public func aaid(_ aaid: Aaid?) -> Self { self.changing { $0.aaid = aaid } }
    /// What proves to the server who asks: from ``AuthenticationSuccess/authorizationProvider`` of an ``Authentication``. In
    /// the place of the device's own proof; needed where the server does not know the device's keys.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
