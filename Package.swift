// swift-tools-version: 6.2
import PackageDescription

/// The SDK, for developers of apps.
///
/// The package resolves swift-crypto and, through swift-crypto, swift-asn1. The server is a separate package, in
/// `Server/`.

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")

let package = Package(
    name: "countersign",
    platforms: [.macOS(.v15), .iOS(.v17)],
    products: [
        // For apps.
        .library(name: "Countersign", targets: ["Countersign"]),
        // Former names of types of `Countersign`, for apps with these names. Apple's frameworks have types of the same
        // names.
        .library(name: "CountersignNames", targets: ["CountersignNames"]),
        .library(name: "CountersignLinux", targets: ["CountersignLinux"]),
        // Keys in a TPM 2.0. Only users of this product need tpm2-tss (`libtss2-dev`).
        .library(name: "CountersignTPM", targets: ["CountersignTPM"]),
        .library(name: "CountersignApple", targets: ["CountersignApple"]),
        // Screens in SwiftUI.
        .library(name: "CountersignScreens", targets: ["CountersignScreens"]),
        .library(name: "CountersignTestKit", targets: ["CountersignTestKit"]),
        // For the back end of an app that signs itself in.
        .library(name: "CountersignBackend", targets: ["CountersignBackend"]),
        // Types that the products above name in their declarations, for apps that name these types too.
        .library(name: "PersonalInformation", targets: ["PersonalInformation"]),
        .library(name: "UAFClient", targets: ["UAFClient"]),
        // For the server, which shares these targets with the SDK. Apps do not import these products.
        .library(name: "_Primitives", targets: ["_Primitives"]),
        .library(name: "JOSE", targets: ["JOSE"]),
        .library(name: "UAF", targets: ["UAF"]),
        .library(name: "Ceremony", targets: ["Ceremony"]),
        .library(name: "OAuth", targets: ["OAuth"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2")
    ],
    targets: [
        // Floor 0
        .target(name: "_Primitives"),
        // Floor 1
        .target(name: "JOSE", dependencies: ["_Primitives", crypto, cryptoExtras]),
        .target(name: "PersonalInformation", dependencies: ["_Primitives"]),
        .target(name: "UAF", dependencies: ["_Primitives", crypto]),
        // Floor 2
        .target(
            name: "Ceremony", dependencies: ["_Primitives", "JOSE", "PersonalInformation", "UAF", crypto, cryptoExtras]),
        .target(name: "OAuth", dependencies: ["_Primitives", "JOSE", crypto]),
        // Floor 3
        .target(name: "UAFClient", dependencies: ["_Primitives", "UAF", crypto, cryptoExtras]),
        // Floor 4
        .systemLibrary(
            name: "CTSS", pkgConfig: "tss2-esys tss2-tctildr tss2-mu", providers: [.apt(["libtss2-dev"])]),
        .target(name: "CountersignTPM", dependencies: ["_Primitives", "UAF", "UAFClient", "CTSS", crypto]),
        .target(
            name: "Countersign",
            dependencies: [
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "OAuth", "UAFClient", crypto,
            ]),
        // A wrapper of libsecret, loaded at the first use. Building or running an app does not need libsecret.
        .target(name: "CSecretService"),
        // Floor 5
        .target(name: "CountersignNames", dependencies: ["Countersign"]),
        .target(
            name: "CountersignLinux",
            dependencies: ["_Primitives", "UAFClient", "Countersign", "CSecretService", crypto]),
        // On Linux this target has its decisions alone. `scripts/check-apple` type-checks the rest.
        .target(
            name: "CountersignApple",
            dependencies: ["_Primitives", "UAF", "UAFClient", "Countersign", crypto],
            resources: [.copy("PrivacyInfo.xcprivacy")]),
        // On Linux this target has the models and words of its screens alone.
        .target(name: "CountersignScreens", dependencies: ["Countersign"]),
        .target(
            name: "CountersignBackend",
            dependencies: ["_Primitives", "JOSE", "PersonalInformation", "OAuth", "Countersign"]),
        .target(
            name: "CountersignTestKit",
            dependencies: [
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "OAuth", "UAFClient", "Countersign",
                crypto, cryptoExtras,
            ]),
        // Floor 6
        .executableTarget(name: "VectorCommand", dependencies: ["CountersignTestKit", "_Primitives"]),

        .testTarget(name: "PrimitivesTests", dependencies: ["_Primitives"]),
        .testTarget(name: "JOSETests", dependencies: ["JOSE", "_Primitives", crypto, cryptoExtras]),
        .testTarget(name: "PersonalInformationTests", dependencies: ["PersonalInformation", "_Primitives"]),
        // The code of the fuzz targets, with inputs from earlier failures; `FuzzTesting/` is a separate package for the
        // fuzzer.
        .testTarget(
            name: "FuzzReplayTests",
            dependencies: [
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "OAuth", "UAFClient", "Countersign",
                crypto,
            ],
            path: "FuzzTesting/Replay", resources: [.copy("FailCases")]),
        .testTarget(
            name: "UAFTests", dependencies: ["UAF", "_Primitives", crypto], resources: [.copy("Vectors")]),
        .testTarget(
            name: "CeremonyTests",
            dependencies: ["Ceremony", "_Primitives", "JOSE", "PersonalInformation", "UAF", crypto],
            resources: [.copy("Vectors")]),
        .testTarget(name: "OAuthTests", dependencies: ["OAuth", "_Primitives", "JOSE", crypto]),
        .testTarget(
            name: "UAFClientTests",
            dependencies: ["UAFClient", "UAF", "_Primitives", "CountersignTestKit", crypto]),
        .testTarget(
            name: "CountersignTests",
            dependencies: [
                "Countersign", "CountersignTestKit", "Ceremony", "JOSE", "OAuth", "PersonalInformation", "UAF",
                "UAFClient", "_Primitives", crypto,
            ], resources: [.copy("Stored")]),
        // The listings of the identities' documentation, as an app's developer has the listings, with imports of the
        // SDK alone. Compiler warnings about the listings belong to the documentation.
        .testTarget(
            name: "SeedListingTests",
            dependencies: [
                "Countersign", "CountersignNames", "CountersignBackend", "CountersignTestKit", "PersonalInformation",
            ],
            swiftSettings: [.unsafeFlags(["-suppress-warnings"])]),
        // Imitates frameworks with type names that an app must be able to use beside `Countersign`.
        .target(name: "FrameworkNames", path: "Tests/FrameworkNames"),
        .testTarget(
            name: "CountersignNamesTests",
            dependencies: ["Countersign", "CountersignNames", "CountersignTestKit"]),
        .testTarget(
            name: "CollidingNamesTests", dependencies: ["Countersign", "CountersignTestKit", "FrameworkNames"]),
        .testTarget(
            name: "CountersignBackendTests",
            dependencies: [
                "CountersignBackend", "Countersign", "CountersignTestKit", "JOSE", "OAuth", "PersonalInformation",
                "_Primitives",
            ]),
        .testTarget(
            name: "CountersignLinuxTests",
            dependencies: ["CountersignLinux", "Countersign", "UAF", "UAFClient", "_Primitives", "CountersignTestKit"]),
        // Runs swtpm, a chip in software, and tpm2-tools.
        .testTarget(
            name: "CountersignTPMTests",
            dependencies: ["CountersignTPM", "UAF", "UAFClient", "_Primitives", "CountersignTestKit", crypto]),
        .testTarget(
            name: "CountersignScreensTests", dependencies: ["CountersignScreens", "Countersign", "UAFClient"]),
        .testTarget(
            name: "CountersignAppleTests",
            dependencies: ["CountersignApple", "Countersign", "UAF", "UAFClient", "_Primitives", crypto]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.name != "SeedListingTests" && target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
    ]
}
