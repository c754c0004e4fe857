import Foundation
import HTTPTypes
import Hummingbird

private struct NoFields: Decodable {}

private struct Visitor: Decodable {
    /// Present if the person says that they have no account yet.
    let newcomer: String?
}

/// The routes for the home page, for signing in and for signing out.
extension ExampleService {
    func addSignInRoutes(to router: Router<BasicRequestContext>) {
        router.get("/") { request, _ in
            let session = await self.session(request)
            if session.person != nil { return self.redirect(self.house.inside) }
            return self.page(self.home(formToken: session.formToken), session: session)
        }
        router.get("/signed-out") { _, _ in self.page(HousePages(house: self.house).signedOut()) }
        router.post("/sign-in") { request, context in try await self.beginSignIn(request, context) }
        router.get("/callback") { request, context in await self.finishSignIn(request, context) }
        router.post("/sign-out") { request, context in try await self.signOut(request, context) }
    }

    private func beginSignIn(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let session = await self.session(request)
        guard let visitor = try await self.form(Visitor.self, request, session) else { return self.forgedForm(context) }
        do {
            let (begun, location) = try await self.provider.begin(
                TracedRun(), isNewcomer: visitor.newcomer != nil)
            await self.sessions.begin(begun, in: session.id)
            await self.record(.signInWanted, begun.run)
            return self.redirect(location, session: session)
        } catch {
            return self.failure(error, title: "Signing in is not possible now", context: context)
        }
    }

    private func finishSignIn(_ request: Request, _ context: BasicRequestContext) async -> Response {
        let session = await self.session(request)
        guard let begun = await self.sessions.takeBegunSignIn(in: session.id) else {
            return self.problem(
                "Nobody is signing in here", "This browser has not asked to sign in, or has been answered already.",
                status: .badRequest, context: context)
        }
        let query = request.uri.queryParameters
        let callback = OpenIDClient.Callback(
            code: query["code"].map(String.init), state: query["state"].map(String.init),
            issuer: query["iss"].map(String.init), error: query["error"].map(String.init))
        do {
            if callback.code != nil { await self.record(.codeExchanged, begun.run) }
            let person = try await self.provider.finish(begun, callback)
            let signedIn = await self.sessions.signIn(person, replacing: session.id)
            await self.record(.signedIn, begun.run)
            return self.redirect(self.house.inside, session: signedIn)
        } catch {
            let isDenied = callback.error == "access_denied" && callback.state?.isSame(as: begun.state) == true
            return self.failure(
                error, title: isDenied ? "You declined on your phone" : "You are not signed in", context: context)
        }
    }

    private func signOut(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let session = await self.session(request)
        guard try await self.form(NoFields.self, request, session) != nil else { return self.forgedForm(context) }
        await self.sessions.end(session.id)
        guard let person = session.person else { return self.redirect("/signed-out") }
        let returnTo = "\(self.origin)/signed-out"
        // The bank signs the person out, even if the provider does not answer.
        let location = try? await self.provider.signOutLocation(idToken: person.idToken, returnTo: returnTo)
        return self.redirect(location ?? returnTo)
    }
}
