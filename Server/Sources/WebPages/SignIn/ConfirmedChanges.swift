import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import _Primitives

/// Lets a page make a change of an account (``AccountChange``) once the person has confirmed the change: on the phone,
/// by the password, or by another provider.
struct ConfirmedChanges: Sendable {
    let confirmations: ChangeConfirmations
    let questions: AccountChangeQuestions
    let cookies: BrowserCookies

    /// The confirmation in the form of a page that makes a change, as the document describes the confirmation.
    static let described = DescribedField.optional(
        ConfirmedChange.field, "The change that was confirmed, as the page has carried it.")

    /// Returns the confirmed change in an address, for the page that makes the change; `nil` if the address names no
    /// change, a change that is not confirmed (any more), or a change of another browser or account.
    func confirmed(_ request: Request, accountID: String) async throws -> (reference: String, change: AccountChange)? {
        guard let confirmed = try await self.confirmed(request), confirmed.accountID.hasSameBytes(as: accountID) else {
            return nil
        }
        return (confirmed.reference, confirmed.change)
    }

    /// Returns the confirmed change of any account in an address, for a browser in which nobody has to be signed in;
    /// `nil` if the change is not confirmed (any more), or another browser has asked for it.
    func confirmed(_ request: Request) async throws -> (
        reference: String, change: AccountChange, accountID: String
    )? {
        guard let query = request.uri.query,
            let reference = (try? SignInAddress.parameter(ConfirmedChange.field, of: query)),
            let requested = try await self.requested(reference, request), requested.state == .approved
        else { return nil }
        return (reference, requested.change, requested.accountID)
    }

    /// Returns the change with a reference, if this browser has asked for the change; otherwise `nil`.
    func requested(_ reference: String, _ request: Request) async throws -> RequestedChange? {
        guard let browser = self.cookies.browser(of: request) else { return nil }
        return try await self.confirmations.requested(reference, browser: browser.cookieValue)
    }

    /// Takes the confirmation of a change, which then counts no second time. Returns `false` without a confirmation of
    /// this change for this browser and account.
    func take(_ change: AccountChange, _ reference: String?, accountID: String, _ request: Request) async throws
        -> Bool
    {
        guard let reference, let browser = self.cookies.browser(of: request) else { return false }
        return try await self.confirmations.take(
            change, reference, browser: browser.cookieValue, accountID: accountID,
            letter: try await self.questions.letters(to: accountID))
    }

    /// Takes the confirmation of a change in a form, and returns `nil`: the change is made now. Without a confirmation
    /// the answer leads to the page on which the person confirms the change.
    ///
    /// - Parameters:
    ///   - page: The page that makes the change, as a path of this server with its query.
    ///   - reference: The form's field `change`.
    func answer(
        unlessConfirmed change: AccountChange, on page: String, accountID: String, reference: String?,
        _ request: Request, _ context: ServerContext
    ) async throws -> Response? {
        if try await self.take(change, reference, accountID: accountID, request) { return nil }
        return try await self.begin(change, on: page, accountID: accountID, request, context)
    }

    /// Asks for the confirmation of a change, and leads to the page on which the person confirms the change.
    ///
    /// - Parameter before: Only phones, passwords and connections with providers from before this moment confirm; `nil`
    ///   for all.
    func begin(
        _ change: AccountChange, on page: String, accountID: String, before: Timestamp? = nil, _ request: Request,
        _ context: ServerContext
    ) async throws -> Response {
        let browser = self.cookies.browser(of: request) ?? self.cookies.newBrowser()
        let begun = try await self.confirmations.begin(
            ChangeRequest(
                change: change, accountID: accountID, page: page, browser: browser.cookieValue,
                address: context.clientAddress,
                browserWords: BrowserWords.describe(userAgent: request.headers[.userAgent]), source: context.source,
                before: before))
        return .seeOther(
            ChangeRoutes.address(ChangeRoutes.waiting, begun), headers: HTTPFields([self.cookies.set(browser)]))
    }
}
