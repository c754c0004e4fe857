import _Primitives

/// An operation that compares this device with the server of each account. Configure the operation and execute it once.
///
/// ```swift
/// let result = try await client.operations.deviceInformationCheck.execute()
/// if !result.mismatches.isEmpty {
///     _ = try await client.operations.deviceInformationSync.mismatches(result.mismatches).execute()
/// }
/// ```
///
/// The device authenticates the requests itself, and the person is asked nothing. The operation changes nothing at a
/// server. A server that does not answer ends nothing: its account is a failure of the result. Execute the check and the
/// repair at the app's start, and not during a registration.
///
/// Ends with ``OperationError``: `operationReused`, and `invalidRequestHeader` for the app's own header fields.
public struct DeviceInformationCheck: SingleOperation, ServerOperation {
    private let core: ClientCore
    private let once = OneShot()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Compares the data of all accounts. Returns an empty result for a device without an account.
    public func perform() async throws(OperationError) -> DeviceInformationCheckResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let core = try self.requestOptions.configure(self.core)
        guard let device = await core.register.device else { return DeviceInformationCheckResult() }
        let comparison = DeviceComparison(core: core, device: device)
        var result = DeviceInformationCheckResult()
        for record in await core.register.records {
            do {
                result.mismatches += try await comparison.mismatches(of: record)
            } catch is CancellationError {
                throw OperationError(translating: CancellationError())
            } catch {
                result.failures.append(
                    DeviceInformationFailure(
                        account: record.account, mismatch: nil, error: OperationError(translating: error)))
            }
        }
        return result
    }
}

/// The result of a ``DeviceInformationCheck``.
public struct DeviceInformationCheckResult: Hashable, Sendable {
    /// The differences, in the order of ``LocalData/accounts``. Empty if this device and the servers that answered agree.
    public internal(set) var mismatches: [DeviceInformationMismatch] = []
    /// The accounts whose servers could not be asked.
    public internal(set) var failures: [DeviceInformationFailure] = []
}
