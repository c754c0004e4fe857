import Countersign

/// Has a new device of the person enrolled, and approves the new device here. Returns a sentence for the person.
func addDevice(
    of username: Username, at client: MobileAuthenticationClient,
    _ confirmer: some TransactionConfirmer, _ numberScreen: some NumberMatcher,
    _ selector: some AuthenticatorSelector, _ pinScreen: some PinUserVerifier,
    showing show: @escaping @Sendable (DeviceApprovalProgress) -> Void
) async throws -> String {
    do {
        _ = try await client.operations.deviceApproval
            .username(username)
            .onProgress(show)
            .transactionConfirmer(confirmer)
            .numberMatcher(numberScreen)
            .authenticatorSelector(selector)
            .pinUserVerifier(pinScreen)
            .execute()
        return "Your new device is ready."
    } catch let error as OperationError where error.code == .deviceLimited {
        return "This device is new itself. Use your other device, or try again tomorrow."
    }
}
