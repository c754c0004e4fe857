import UAF
import UAFClient
import _Primitives

/// An operation that deletes an account's keys of this device: first at the server, then on the device. Configure the
/// operation and execute it once.
///
/// The account is removed with its last key that a person uses, and the device's data with the last account. A person
/// without an enrolment on this device is already deregistered: the operation succeeds and sends nothing.
///
/// If the server knows the device's own keys, the device authenticates the request itself. Otherwise the server refuses
/// (``OperationError/Code-swift.struct/notAuthorized``): authenticate, and set the authorization provider.
public struct Deregistration: SingleOperation, InAppOperation {
    private let core: ClientCore
    fileprivate var username: Username?
    fileprivate var aaid: Aaid?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    private let once = OneShot()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Deregisters the keys. If the server refuses or does not answer, the device still has everything. Repeat the
    /// operation then, because the server may have deleted its records.
    ///
    /// To delete keys only on the device, see ``LocalData/deleteAuthenticator(username:aaid:)``.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        let core = try self.requestOptions.configure(self.core)
        guard let record = await core.record(named: username) else { return }
        guard record.key.server == core.configuration.baseURL else {
            throw OperationError(.userAlreadyRegisteredInAnotherServer, "the account is at another server")
        }
        let keys = self.keys(of: record)
        guard !keys.isEmpty else { return }
        // An explicit demand for the device's signature is not dropped if the device cannot sign.
        let caller =
            core.caller(self.authorizationProvider, for: record)
            ?? self.authorizationProvider.map { .provider($0) } ?? .anybody
        do {
            try await Self.deregister(keys, username, by: caller, core)
            try await core.forget(keys, of: record)
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// Returns the keys to delete. If no key remains that a person uses, the list also includes the keys that were
    /// registered along with the chosen key.
    private func keys(of record: StoredAccount) -> [KeyName] {
        guard let aaid else { return record.keys }
        let chosen = record.keys.filter { $0.aaid.text.hasSameBytes(as: aaid) }
        let left = record.keys.filter { !$0.aaid.text.hasSameBytes(as: aaid) }
        let hasOther = left.contains { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }
        return chosen.isEmpty || hasOther ? chosen : record.keys
    }

    /// Has the server delete the keys. The server's message has to name exactly these keys.
    static func deregister(
        _ keys: [KeyName], _ username: Username, by caller: RequestCaller, _ core: ClientCore
    ) async throws {
        let context: JSONObject = [
            "username": .string(username), "mode": .string("key"),
            "keys": .array(
                keys.map { .object(["aaid": .string($0.aaid.text), "keyID": .string($0.keyID.base64URL)]) }),
        ]
        let answer = try await ServerExchange(core: core, recording: core.newRecording()).request(
            GetUAFRequest(operation: .deregistration, context: context),
            path: core.configuration.deregistrationRequestPath, by: caller)
        // The message can name only the requested keys: it confirms the request, and gives no other orders.
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
    /// Sets the person's user name. Required.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Restricts the operation to the keys of one authenticator. Without this call, or with `nil`, the operation
    /// deletes all keys of the person on this device.
    public func aaid(_ aaid: Aaid?) -> Self { self.changing { $0.aaid = aaid } }
    /// Sets the provider that authenticates the request to the server: ``AuthenticationSuccess/authorizationProvider``
    /// of an ``Authentication``. The provider replaces the device's own authentication, and is required if the server
    /// does not know the device's keys.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
