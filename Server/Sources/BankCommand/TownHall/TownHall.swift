import Hummingbird

/// The town hall's parts: a desk where a person sees the facts that the town hall learnt about them.
struct TownHall: ExampleService {
    let house = House.townHall
    let origin: String
    let provider: OpenIDClient
    let sessions: SessionTable
    let trace: TraceFile?

    func addRoutes(to router: Router<BasicRequestContext>) {
        self.addCommonRoutes(to: router)
        router.get("/desk") { request, _ in
            let session = await self.session(request)
            guard let person = session.person else { return self.redirect("/") }
            return self.page(TownHallPages(house: self.house).desk(person, formToken: session.formToken))
        }
    }

    func home(formToken: String) -> HTML { TownHallPages(house: self.house).home(formToken: formToken) }
}
