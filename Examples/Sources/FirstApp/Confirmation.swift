import Countersign
import Foundation

struct PinScreen: PinUserVerifier {
    let ask: @Sendable (PinUserVerificationContext) async -> String?

    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) async {
        guard let pin = await self.ask(context) else { return handler.cancel() }
        handler.verifyPin(pin)
    }
}

/// Shows the content of a confirmation, or a browser that is new to the account, and asks for a yes or a no.
struct ConfirmationScreen: TransactionConfirmer, RequesterVerifier {
    let ask: @Sendable (_ title: String, _ lines: [String]) async -> Bool

    func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) async {
        let service = context.requester?.service ?? "A service"
        let isAgreed: Bool
        if let payment = context.payment {
            let rows = payment.rows.map { "\($0.label): \($0.value)" }
            isAgreed = await self.ask("\(service): you are about to pay", rows)
        } else if context.transactionConfirmationContentType == .textPlain {
            let text = String(decoding: context.transactionConfirmationData, as: UTF8.self)
            isAgreed = await self.ask("\(service): you are about to sign", [text])
        } else {
            // This screen cannot draw a picture, and refuses the content: nobody agrees to an unseen picture.
            isAgreed = false
        }
        isAgreed ? handler.approve() : handler.cancel()
    }

    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) async {
        let requester = context.requester
        let lines = [requester.service, requester.origin, requester.browser, requester.address].compactMap(\.self)
        let isOwn = await self.ask("You have not used this browser before. Is it yours, and in front of you?", lines)
        isOwn ? handler.approve() : handler.cancel()
    }
}

/// Lets the person choose the account that answers.
struct AccountScreen: AccountSelector {
    let choose: @Sendable (_ accounts: [String]) async -> String?

    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) async {
        guard let chosen = await self.choose(context.accounts.map(\.username)) else { return handler.cancel() }
        handler.username(chosen)
    }
}

func confirm(_ authentication: OutOfBandAuthentication, on screen: ConfirmationScreen) async throws {
    do {
        let result =
            try await authentication
            .accountSelector(AccountScreen { accounts in accounts.first })
            .requesterVerifier(screen)
            .transactionConfirmer(screen)
            .authenticatorSelector(Preferred(kind: .pin))
            .pinUserVerifier(PinScreen { _ in "258036" })
            .execute()
        if let location = result.location { print("Open \(location) in this device's browser") }
    } catch let error as OperationError where error.recovery == .nothing {
        print("You said no. The service has been told.")
    } catch let error as OperationError {
        print(error.localizedDescription, error.recoverySuggestion ?? "")
        throw error
    }
}

/// Saves the copy of each receipt as a file of a folder.
func saveReceipts(of username: String, from client: MobileAuthenticationClient, in folder: URL) async throws {
    let receipts: [TransactionReceipt] = try await client.operations.transactionReceipts.username(username).execute()
    for receipt in receipts {
        try Data(receipt.copy).write(to: folder.appending(path: "receipt-\(receipt.id).json"))
    }
}
