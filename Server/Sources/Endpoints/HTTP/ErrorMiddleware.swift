import Accounts
import CeremonyEngine
import HTTPTypes
import Hummingbird
import Logging
import Passwords
import Records
package import Settings
import UAF
import _Primitives

/// The ring boundary: turns every error of a route into an answer, in this one place.
///
/// A caller's mistake is never a 500. The log has the reason of a 500; the answer holds no part of the reason.
struct ErrorMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    /// Makes the page that tells people of a problem; `nil` on a listener without people.
    var page: (@Sendable (Problem, ServerContext) -> Response)?

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = self.problem(error, context)
            guard let page, request.asksForPage else { return problem.response }
            return page(problem, context)
        }
    }

    fileprivate func problem(_ error: any Error, _ context: ServerContext) -> Problem {
        let problem = self.answer(error, context)
        let shortage = (error as? CeremonyError)?.shortage ?? (error as? AccountError)?.shortage
        context.notes.note(
            RequestRefusal(
                code: problem.name, reason: problem.detail, client: shortage?.clientID, setting: shortage?.setting))
        return problem
    }

    private func answer(_ error: any Error, _ context: ServerContext) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as CeremonyError:
            if let shortage = error.shortage { context.log(shortage) }
            return self.problem(error)
        case let error as AccountError:
            if let shortage = error.shortage { context.log(shortage) }
            return self.problem(error)
        case let error as JSONError:
            return Problem(
                .badRequest, "malformed-body", "The body is not the JSON that is asked for: \(error.reason).")
        case let error as StoreError where error.code == .unavailable:
            context.logger.error(
                "The store is unavailable", metadata: ["reason": "\(error)", "reference": "\(context.reference)"])
            return Problem(
                .serviceUnavailable, Problem.Name.storeUnavailable, "The server cannot store anything just now.",
                headers: [.retryAfter: "5"])
        case let error as HashingError where error.code != .failed:
            // The answer tells only when to come again; the log names the setting.
            let seconds = error.retryAfter.map { String($0.components.seconds) } ?? "1"
            context.notes.note(
                RequestRefusal(
                    code: Problem.Name.passwordsBusy, reason: "\(error.reason): more threads or processors help.",
                    setting: "waitingHashes"))
            return Problem(
                .serviceUnavailable, Problem.Name.passwordsBusy, "Too many passwords wait to be looked at.",
                headers: [.retryAfter: seconds])
        // A route that knows the meaning of the error answers the error itself.
        case let error as StoreError where error.code == .conflict:
            return Problem(.conflict, "conflict", "Something else stands in the way of this, or was quicker.")
        case let error as StoreError where error.code == .notFound:
            return Problem(.notFound, Problem.Name.notFound, "There is no such thing.")
        case let error as HTTPError where error.status == .notFound:
            return Problem(.notFound, Problem.Name.notFound, "There is nothing at this address.")
        case let error as HTTPError:
            return Problem(error.status, "request-refused")
        default:
            context.logger.error(
                "A request failed", metadata: ["reason": "\(error)", "reference": "\(context.reference)"])
            return Problem(.internalServerError, Problem.Name.internal)
        }
    }

    private func problem(_ error: CeremonyError) -> Problem {
        var headers: HTTPFields = [:]
        headers[.retryAfter] = error.retryAfterSeconds.map(String.init)
        if error.code == .notProven { headers[.wwwAuthenticate] = DeviceProofField.text }
        let (status, detail): (HTTPResponse.Status, String) =
            switch error.code {
            case .tokenUnknown: (.notFound, "There is no such token.")
            case .tokenAlreadyRedeemed: (.conflict, "The token has been redeemed before.")
            case .notProven: (.unauthorized, "The token was dispatched to a device, which has to prove the request.")
            case .tokenExpired: (.gone, "The token's time is over. Ask for a new one.")
            case .notFound: (.notFound, "There is no such thing.")
            case .conflict: (.conflict, "The name is taken.")
            case .wrongBrowser: (.forbidden, "This browser did not start the sign-in.")
            case .tooManyRequests: (.tooManyRequests, error.shortage?.remedy ?? "Too many requests.")
            case .wrongNumber: (.unprocessableContent, "That is not the number. The activation has ended.")
            case .pictureNotShown:
                (.unprocessableContent, "No authenticator of the person shows pictures of this kind.")
            case .nameTaken: (.unprocessableContent, "Another phone of the person has this name.")
            case .dispatcherUnknown: (.unprocessableContent, "No dispatcher to devices has this name.")
            case .keysDiffer:
                (.unprocessableContent, "These are not the two keys that the device's authenticator has told.")
            case .targetInvalid: (.unprocessableContent, error.reason)
            case .wrongState: (.conflict, "Nothing waits for this now.")
            case .forbidden: (.forbidden, "This is not allowed to this client.")
            case .deviceLimited:
                (.forbidden, "Another device approved this device a short time ago: it may do this later.")
            case .locked: (HTTPResponse.Status(code: 403, reasonPhrase: "Forbidden"), "The account is locked.")
            default: (.badRequest, error.reason)
            }
        var members: JSONObject = [:]
        if error.code == .pictureNotShown { members["displays"] = .array(error.displays.map(\.json)) }
        members["until"] = error.limitedUntil.map { .string($0.description) }
        return Problem(status, error.code.name, detail, headers: headers, members: members)
    }

    private func problem(_ error: AccountError) -> Problem {
        var headers: HTTPFields = [:]
        headers[.retryAfter] = error.shortage.map { String($0.retryAfterSeconds) }
        let (status, detail): (HTTPResponse.Status, String) =
            switch error.code {
            case .notFound: (.notFound, error.reason.isEmpty ? "There is no such thing." : error.reason)
            case .conflict: (.conflict, error.reason)
            case .tooManyRequests: (.tooManyRequests, error.shortage?.remedy ?? "Too many requests.")
            case .invalidRequest: (.badRequest, error.reason)
            }
        return Problem(status, error.code.rawValue, detail, headers: headers)
    }
}

extension ServerContext {
    /// Returns the answer to an error, and notes the refusal for the request's line in the log.
    package func problem(of error: any Error) -> Problem { ErrorMiddleware().problem(error, self) }

    /// Logs the setting whose budget a caller has used up, and the client, unless the log had the same message a moment
    /// ago.
    package func log(_ shortage: Shortage) {
        guard shortage.isNews else { return }
        var metadata: Logger.Metadata = ["setting": "\(shortage.setting)"]
        metadata["client"] = shortage.clientID.map { "\($0)" }
        self.logger.warning("A budget is used up: requests are refused until it comes back", metadata: metadata)
    }

    /// Returns the problem for a person whose network has used up a budget. The log has the setting.
    package func refusal(_ shortage: Shortage) -> Problem {
        self.log(shortage)
        self.notes.note(
            RequestRefusal(
                code: CeremonyError.Code.tooManyRequests.name, reason: shortage.remedy, setting: shortage.setting))
        return Problem(
            .tooManyRequests, CeremonyError.Code.tooManyRequests.name,
            headers: [.retryAfter: String(shortage.retryAfterSeconds)])
    }
}

extension Request {
    /// `true` if a person reads the answer: a browser that goes to an address asks for a page, and no program does.
    var asksForPage: Bool {
        self.headers[values: .accept].contains { $0.utf8.firstRange(of: "text/html".utf8) != nil }
    }
}
