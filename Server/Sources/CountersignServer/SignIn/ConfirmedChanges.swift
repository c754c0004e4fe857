import CeremonyEngine
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Store
import _Primitives

/// Lets a page make a change of an account once the account's phone has confirmed the change (``AccountChange``).
struct ConfirmedChanges: Sendable {
    let confirmations: ChangeConfirmations
    let cookies: BrowserCookies

    /// The confirmed change that an address names, for the page that makes the change; `nil` where the address names none,
    /// or one of another browser or account.
    func confirmed(_ request: Request, accountID: String) async throws -> (reference: String, change: AccountChange)? {
        guard let query = request.uri.query, let browser = self.cookies.browser(of: request),
            let reference = (try? SignInAddress.parameter(ConfirmedChange.field, of: query)),
            let requested = try await self.confirmations.requested(reference, browser: browser.cookieValue),
            requested.accountID.hasSameBytes(as: accountID), requested.state == .approved
        else { return nil }
        return (reference, requested.change)
    }

    /// Takes the confirmation of a change that a form names, and answers `nil`: the change is made now. Without a
    /// confirmation the answer leads to the page on which the person confirms the change.
    ///
    /// - Parameters:
    ///   - page: The page that makes the change, as a path of this server with its query.
    ///   - reference: The form's field `change`.
    func answer(
        unlessConfirmed change: AccountChange, on page: String, accountID: String, reference: String?,
        _ request: Request, _ context: ServerContext
    ) async throws -> Response? {
        let known = self.cookies.browser(of: request)
        if let reference, let known,
            try await self.confirmations.take(
                change, reference, browser: known.cookieValue, accountID: accountID)
        {
            return nil
        }
        let browser = known ?? self.cookies.newBrowser()
        let begun = try await self.confirmations.begin(
            ChangeRequest(
                change: change, accountID: accountID, page: page, browser: browser.cookieValue,
                address: context.clientAddress,
                browserWords: BrowserWords.describe(userAgent: request.headers[.userAgent]), source: context.source))
        return .seeOther(
            ChangeRoutes.address(ChangeRoutes.waiting, begun), headers: HTTPFields([self.cookies.set(browser)]))
    }
}
