import Countersign

struct PinScreen: PinUserVerifier {
    let ask: @Sendable (PinUserVerificationContext) async -> String?

    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
        Task {
            guard let pin = await self.ask(context) else { return handler.cancel() }
            handler.verifyPin(pin)
        }
    }
}

/// Shows who asks and what for, and lets the person choose the account that answers.
struct AccountScreen: AccountSelector {
    let ask: @Sendable (_ service: String, _ text: String?, _ accounts: [String]) async -> String?

    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) {
        let text = context.transactionConfirmationData.map { String(decoding: $0, as: UTF8.self) }
        let service = context.requester?.service ?? "unknown"
        Task {
            let chosen = await self.ask(service, text, context.accounts.map(\.username))
            guard let chosen else { return handler.cancel() }
            handler.username(chosen)
        }
    }
}

func confirm(_ authentication: OutOfBandAuthentication) async throws {
    do {
        let result =
            try await authentication
            .accountSelector(AccountScreen { _, _, accounts in accounts.first })
            .authenticatorSelector(Preferred(kind: .pin))
            .pinUserVerifier(PinScreen { _ in "258036" })
            .execute()
        if let location = result.location { print("Open \(location) in this device's browser") }
    } catch let error as OperationError where error.fidoErrorCode == .userCanceled {
        print("You said no. The service has been told.")
    } catch let error as OperationError where error.fidoErrorCode == .userLockout {
        print("Too many wrong PINs. Enrol this device again.")
    }
}
