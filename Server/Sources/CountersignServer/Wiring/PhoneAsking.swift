import Accounts
import CeremonyEngine
import OAuthProvider
import PublicAPI
import Records
import WebPages
import _Primitives

/// Asks people on their phones without a browser: hands the questions of clients to the ceremonies. So neither engine
/// knows the other.
struct PhoneAsking: BackchannelMethod {
    let name = AuthenticationRecord.phoneMethod
    let directory: AccountDirectory
    let ceremonies: LateCeremonies
    let random: RandomSource

    func account(username: String) async throws -> String? {
        do { return try await self.directory.account(written: username).id } catch is AccountError { return nil }
    }

    func ask(_ asked: AskedPerson) async throws -> AskingResult {
        guard let questions = self.ceremonies.backchannel else { return .asked }
        let question = BackchannelQuestion(
            reference: asked.request,
            // For an unknown person the question waits for a phone that nobody has.
            accountID: asked.account ?? self.random.identifier(), hint: asked.hint, message: asked.message,
            number: asked.number, end: asked.end)
        do {
            try await questions.ask(question, client: DispatchingClient(asked.client))
            return .asked
        } catch let error as CeremonyError where error.code == .invalidRequest {
            return .unfitMessage(error.reason)
        } catch let error as CeremonyError where error.code == .forbidden {
            return .notAllowed
        } catch let error as CeremonyError {
            guard let shortage = error.shortage else { throw error }
            return .tooMany(shortage)
        }
    }

    func answer(request: String, client: String) async throws -> PersonsAnswer {
        guard let questions = self.ceremonies.backchannel else { return .over }
        switch try await questions.state(reference: request, client: client) {
        case .waiting: return .waiting
        case .denied: return .denied
        case .over: return .over
        case .answered(let outcome):
            return .authenticated(
                AuthenticationOutcome(
                    account: outcome.accountID, authenticatedAt: outcome.authTime, acr: outcome.acr, amr: outcome.amr,
                    device: outcome.deviceID, signedText: outcome.contentHash))
        }
    }
}
