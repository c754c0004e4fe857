import Countersign
import Foundation

/// `health-app SERVICE APP [SITE]`: the app in a terminal. `HEALTH_APP_FOLDER` is the folder of the app's data.
/// `HEALTH_APP_REDIRECT_URI` is the address at which the browser returns to the app. `HEALTH_APP_CHROMIUM` is the
/// browser for the app's pages.
@main
struct Program {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        let environment = ProcessInfo.processInfo.environment
        guard (2...3).contains(words.count), let service = words.first.flatMap({ URL(string: $0) }) else {
            FileHandle.standardError.write(Data("usage: health-app SERVICE APP [SITE]\n".utf8))
            exit(2)
        }
        let list = Array(words)
        var settings = HealthSettings(
            service: service, app: list[1], site: list.count > 2 ? URL(string: list[2]) : nil,
            folder: environment["HEALTH_APP_FOLDER"] ?? NSHomeDirectory() + "/.health-app")
        settings.redirectURI = environment["HEALTH_APP_REDIRECT_URI"] ?? settings.redirectURI
        settings.chromium = environment["HEALTH_APP_CHROMIUM"] ?? settings.chromium
        let terminal = Terminal()
        let platform = try makePlatform(settings, sensor: terminal) { terminal.opening($0) }
        let signIn = try await SignIn(makeConfiguration(settings), platform: platform)
        let app = HealthApp(signIn: signIn, screen: terminal, site: settings.site)
        await terminal.say(Terminal.buttons)
        await app.appOpens()
        while let line = readLine(), line != "quit" { await press(line, of: app, on: terminal) }
        // The windows end with the app, and so does their data on the disk.
        try? await platform.webViews?.clear()
    }

    private static func press(_ button: String, of app: HealthApp, on terminal: Terminal) async {
        let words = button.split(separator: " ").map(String.init)
        switch button {
        case "sign in": await app.signInTapped()
        case _ where words.count == 2 && words[0] == "password":
            await type(words[1], Terminal.secretLine() ?? "", into: app.fields)
            await app.fieldsSubmitted()
        case "records": await app.pageTapped("records", title: "Your records", isPersonal: true)
        case "home page": await app.pageTapped("", title: "Health", isPersonal: false)
        case "finger on", "finger off": await app.fingerSwitched(words[1] == "on")
        case "sign out": await app.signOutTapped()
        default: await terminal.say(Terminal.buttons)
        }
    }

    @MainActor
    private static func type(_ name: String, _ password: String, into fields: PasswordForm) {
        fields.username = name
        fields.password = password
    }
}
